#include "course/hint.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "course/errors.hpp"
#include "course/hints.hpp"
#include "course/lesson_argument.hpp"
#include "course/standing.hpp"
#include "course/terminal.hpp"
#include "course/text_file.hpp"

namespace course::program {

namespace {

std::vector<std::string> hints_for(const Checkout& checkout, const LessonInfo& lesson,
                                   const std::string& task) {
  const std::filesystem::path file = Checkout::lesson_folder(lesson) / "hints.md";
  if (!std::filesystem::exists(checkout.root / file))
    throw Unavailable("lesson " + lesson.id + " has no " + file.string());
  std::vector<std::string> hints = parse_hints(read_text(checkout.root / file))[task];
  if (hints.empty()) throw Unavailable(file.string() + " has no hint for task " + task);
  return hints;
}

/// What the last check took the task's mistake for, from the record even where the file has changed since.
void print_last_mistake(const LessonInfo& lesson, const LessonRecord& record, const std::string& task) {
  for (const std::string& name : test_names(lesson.task(task))) {
    const auto found = record.tests.find(name);
    if (found == record.tests.end() || found->second.mistakes.empty()) continue;
    fmt::print("the last check looked like: {}\n\n", lesson.mistake(found->second.mistakes.front()).what);
    return;
  }
}

}  // namespace

int hint(const Checkout& checkout, const std::string& argument, bool again) {
  LessonChoice choice = choose_lesson(checkout.lessons, argument);
  const LessonInfo& lesson = *choice.lesson;
  const Progress progress = read_progress(checkout);
  if (choice.task.empty()) {
    const LessonStanding standing = standing_of(checkout, lesson, progress);
    const TaskStanding* open = standing.open_task();
    if (open == nullptr) {
      fmt::print("lesson {} is passed; for a task's hints all the same: ./course hint {}.{}\n", lesson.id,
                 lesson.id, lesson.tasks.front().id);
      return succeeded;
    }
    choice.task = open->task->id;
  }
  const std::vector<std::string> hints = hints_for(checkout, lesson, choice.task);
  const std::string key = lesson.id + "." + choice.task;
  const auto shown = progress.hints.find(key);
  const int count = static_cast<int>(hints.size());
  const int before = shown == progress.hints.end() ? 0 : std::clamp(shown->second, 0, count);
  if (before == count && !again) {
    fmt::print(
        "there are no more hints for {}; the last again: ./course hint {} --again; the solution: ./course "
        "show {} --spoil\n",
        key, key, lesson.id);
    return succeeded;
  }
  const int number = again ? std::max(before, 1) : before + 1;
  const auto record = progress.lessons.find(lesson.id);
  if (record != progress.lessons.end()) print_last_mistake(lesson, record->second, choice.task);
  fmt::print("{}\n\n{}\n",
             painted(fmt::format("task {}, {}: hint {} of {}", choice.task, lesson.task(choice.task).name,
                                 number, count),
                     Colour::Bold),
             hints[static_cast<std::size_t>(number - 1)]);
  update_progress(checkout, [&](Progress& now) { now.hints[key] = number; });
  return succeeded;
}

}  // namespace course::program
