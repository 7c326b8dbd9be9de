#include <fmt/core.h>

#include <algorithm>

#include "course/commands/commands.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> hints_for(const Checkout& checkout, const LessonInfo& lesson,
                                   const std::string& task) {
  const fs::path file = Checkout::lesson_folder(lesson) / "hints.md";
  if (!fs::exists(checkout.root / file))
    throw Unavailable("lesson " + lesson.id + " has no " + file.string());
  std::vector<std::string> hints = parse_hints(read_text(checkout.root / file))[task];
  if (hints.empty()) throw Unavailable(file.string() + " has no hint for task " + task);
  return hints;
}

/// The lesson as the last check found it, whatever has become of the file since; nullopt when there was none.
std::optional<LessonStatus> at_last_check(const LessonInfo& lesson, const Progress& progress) {
  const auto record = progress.lessons.find(lesson.id);
  if (record == progress.lessons.end()) return std::nullopt;
  return lesson_status_of(lesson, {{}, false, record->second.hash}, &record->second, "");
}

/// Whether it was played and is wrong.
bool has_failed(const TaskStatus& task) {
  return task.status == Status::Failed && !task.unfinished;
}

/// The first task that failed at the last check. Where none did, the first that is not passed as the file
/// stands; empty when all are.
std::string task_in_need(const LessonStatus& now, const std::optional<LessonStatus>& last) {
  if (now.open_task() == nullptr) return "";
  if (last && last->obstacle.empty()) {
    const auto task = std::ranges::find_if(last->tasks, has_failed);
    if (task != last->tasks.end()) return task->task->id;
  }
  return now.open_task()->task->id;
}

/// "lessons/01_safe_softmax/README.md:148 (Common mistakes)"
std::string where_mistakes_are_explained(const Checkout& checkout, const LessonInfo& lesson) {
  const fs::path file = Checkout::lesson_folder(lesson) / "README.md";
  if (!fs::exists(checkout.root / file)) return "";
  const std::vector<std::string> lines = lines_of(read_text(checkout.root / file));
  const auto heading = std::ranges::find(lines, "## Common mistakes");
  if (heading == lines.end()) return file.string();
  return fmt::format("{}:{} (Common mistakes)", file.string(), heading - lines.begin() + 1);
}

/// What the last check said of the task: the mistakes that it named, else the first line of its diagnosis.
void print_last_verdict(const Checkout& checkout, const LessonStatus& last, const std::string& id) {
  const LessonInfo& lesson = *last.lesson;
  const auto task =
      std::ranges::find_if(last.tasks, [&](const TaskStatus& status) { return status.task->id == id; });
  if (!has_failed(*task)) return;
  if (task->mistakes.empty()) {
    fmt::print("the last check said: {}\n\n", task->diagnosis.substr(0, task->diagnosis.find('\n')));
    return;
  }
  for (const std::string& mistake : task->mistakes) {
    const auto known = std::ranges::find(lesson.mistakes, mistake, &MistakeInfo::id);
    if (known == lesson.mistakes.end()) continue;  // named by another version of the course
    fmt::print("the last check looked like: {}\n  it shows on: {}\n", known->what, known->exposed_by);
  }
  const std::string where = where_mistakes_are_explained(checkout, lesson);
  if (!where.empty()) fmt::print("  explained in {}\n", where);
  fmt::print("\n");
}

}  // namespace

int hint(const Checkout& checkout, const HintOptions& options) {
  auto [chosen, task] = choose_lesson(checkout.lessons, options.lesson, options.task);
  const LessonInfo& lesson = *chosen;
  const Progress progress = read_progress(checkout);
  const std::optional<LessonStatus> last = at_last_check(lesson, progress);
  if (task.empty()) task = task_in_need(lesson_status_of(checkout, lesson, progress), last);
  if (task.empty()) {
    fmt::print("lesson {0} is passed; for a task's hints all the same: ./course hint {0}.{1}\n", lesson.id,
               lesson.tasks.front().id);
    return succeeded;
  }
  const std::vector<std::string> hints = hints_for(checkout, lesson, task);
  const std::string key = lesson.id + "." + task;
  const auto shown = progress.hints.find(key);
  const int count = static_cast<int>(hints.size());
  const int before = shown == progress.hints.end() ? 0 : std::clamp(shown->second, 0, count);
  if (last) print_last_verdict(checkout, *last, task);
  if (before == count && !options.again) {
    fmt::print(
        "there are no more hints for {0}; the last again: ./course hint {0} --again{1}\n", key,
        checkout.has_solution(lesson) ? "; the solution: ./course show " + lesson.id + " --spoil" : "");
    return succeeded;
  }
  const int number = options.again ? std::max(before, 1) : before + 1;
  const std::string title =
      fmt::format("task {}, {}: hint {} of {}", task, lesson.task(task).name, number, count);
  fmt::print("{}\n\n{}\n", painted(title, Colour::Bold), hints[static_cast<std::size_t>(number - 1)]);
  update_progress(checkout, [&](Progress& now) { now.hints[key] = number; });
  return succeeded;
}

}  // namespace course::program
