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

/// The task to work on after the last check, though the file may have changed since; the first where there
/// was none, or the lesson is begun again. Empty when all are passed as the file stands.
std::string task_in_need(const LessonStatus& now, const std::optional<LessonStatus>& last) {
  const TaskStatus* const open = now.open_task();
  if (open == nullptr) return "";
  const bool checked = last && last->obstacle.empty();
  const TaskStatus* const next = checked ? last->next_task() : nullptr;
  const bool begun_again = now.status == Status::Todo && next != nullptr && !next->is_wrong();
  return next == nullptr || begun_again ? open->task->id : next->task->id;
}

/// What a drill of the lesson failed by since then; empty where none did.
TestResults at_last_drill(const LessonInfo& lesson, const Progress& progress) {
  const auto results = progress.drilled.find(lesson.id);
  return results == progress.drilled.end() ? TestResults() : results->second;
}

/// The task of a drill, which plays no other: its tests are named after it, be they wrong or not written yet.
std::string task_of(const TestResults& drilled) {
  const std::string& test = drilled.begin()->first;
  return test.substr(0, test.find('.'));
}

/// What these tests have against the task; nullptr where it did not fail.
const TaskStatus* failure_of(const std::optional<LessonStatus>& last, const std::string& id) {
  if (!last || !last->obstacle.empty()) return nullptr;
  const auto task =
      std::ranges::find_if(last->tasks, [&](const TaskStatus& status) { return status.task->id == id; });
  return task->is_wrong() ? &*task : nullptr;
}

/// Prints what to make of the failure, in one line where that has been printed in full. Whether it had not.
bool tell(const Checkout& checkout, const LessonInfo& lesson, const TaskStatus& failure, bool in_drill,
          bool again) {
  const std::string key = lesson.id + "." + failure.task->id;
  const std::string outline = failure_outline(failure);
  const std::string text = guidance(checkout, lesson, failure, in_drill);
  bool is_new = false;
  update_progress(checkout, [&](Progress& now) {
    is_new = now.guided[key] != outline;
    now.guided[key] = outline;
  });
  fmt::print("{}\n", fitted(is_new || again ? text : text.substr(0, text.find('\n') + 1)));
  return is_new;
}

}  // namespace

int hint(const Checkout& checkout, const HintOptions& options) {
  auto [chosen, task] = choose_lesson(checkout.lessons, options.lesson, options.task);
  const LessonInfo& lesson = *chosen;
  const std::string call = "./course hint " + lesson.id + (task.empty() ? "" : "." + task);
  const Progress progress = read_progress(checkout);
  const std::optional<LessonStatus> last = at_last_check(lesson, progress);
  const TestResults drilled = at_last_drill(lesson, progress);
  if (task.empty() && !drilled.empty()) task = task_of(drilled);
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
  const std::optional<LessonStatus> drilled_status = lesson_status_of(lesson, drilled);
  const TaskStatus* const in_drill = failure_of(drilled_status, task);
  const TaskStatus* failure = in_drill != nullptr ? in_drill : failure_of(last, task);
  const bool is_news =
      failure != nullptr && tell(checkout, lesson, *failure, in_drill != nullptr, options.again);
  if (is_news && !options.again && before < count) {
    fmt::print("{} again gives general hint {} of {} for task {}\n", call, before + 1, count, task);
    return succeeded;
  }
  if (options.again && before == 0) {
    fmt::print("no hint for {} has been given yet; {} gives the first\n", key, call);
    return succeeded;
  }
  if (before == count && !options.again) {
    fmt::print(
        "there are no more hints for {0}; the last again: ./course hint {0} --again{1}\n", key,
        checkout.has_solution(lesson) ? "; the solution: ./course show " + lesson.id + " --spoil" : "");
    return succeeded;
  }
  const int number = options.again ? before : before + 1;
  const std::string title =
      fmt::format("task {}, {}: hint {} of {}", task, lesson.task(task).name, number, count);
  fmt::print("{}\n\n{}\n", painted(title, Colour::Bold),
             fitted(hints[static_cast<std::size_t>(number - 1)], wrapped_markdown));
  update_progress(checkout, [&](Progress& now) { now.hints[key] = number; });
  return succeeded;
}

}  // namespace course::program
