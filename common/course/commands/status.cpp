#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "course/commands/commands.hpp"
#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"

namespace course::program {

namespace {

struct Mark {
  const char* symbol;
  const char* plain;  ///< where the locale is not UTF-8
  Colour colour;
  const char* word;
};
constexpr std::array marks{Mark{"✓", "+", Colour::Green, "passed"},
                           Mark{"✗", "x", Colour::Red, "not there yet"}, Mark{"·", ".", Colour::Grey, "todo"},
                           Mark{"-", "-", Colour::Grey, "skipped"}};  // in the order of Status
constexpr Mark stale_mark{"~", "~", Colour::Yellow, "not checked since it changed"};

std::string state_of_open(const TaskStatus& task) {
  if (task.unplayed) return "not checked";
  return task.unfinished ? "checked in part" : to_string(task.status);
}

std::string lesson_line(const LessonStatus& lesson_status) {
  const LessonInfo& lesson = *lesson_status.lesson;
  const Mark& mark =
      lesson_status.stale ? stale_mark : marks.at(static_cast<std::size_t>(lesson_status.status));
  std::string word = mark.word;
  const bool played =
      lesson_status.status == Status::Failed && !lesson_status.stale && lesson_status.obstacle.empty();
  if (played) word += ": " + open_tasks(lesson_status);
  if (lesson_status.status == Status::Skipped) word += ": " + lesson_status.tasks.front().diagnosis;
  return fmt::format("  {} {} {:<34} {:>3} of {:>3}  {}\n",
                     painted(utf8() ? mark.symbol : mark.plain, mark.colour), lesson.id, lesson.title,
                     lesson_status.points(), lesson.max_points(), word);
}

std::string bar(int points, int max_points) {
  constexpr int width = 40;
  const int filled = max_points > 0 ? width * points / max_points : 0;
  std::string text;
  for (int i = 0; i < width; ++i) text += i < filled ? (utf8() ? "█" : "#") : (utf8() ? "░" : "-");
  return text;
}

std::string file_to_edit(const LessonInfo& lesson) {
  return Checkout::student_file(lesson, lesson.files.front()).string();
}

std::string readme(const LessonInfo& lesson) {
  return (Checkout::lesson_folder(lesson) / "README.md").string();
}

std::string named(const TaskStatus& status) {
  return fmt::format("task {} ({})", status.task->id, status.task->name);
}

/// What to do about a lesson that is not passed. `task` is the one that was asked for; may be empty.
std::string step_in(const LessonStatus& lesson_status, const std::string& task) {
  const LessonInfo& lesson = *lesson_status.lesson;
  const TaskStatus& open = *lesson_status.open_task();
  const std::string& obstacle = lesson_status.obstacle;
  if (lesson_status.status == Status::Todo) {
    const auto chosen =
        std::ranges::find(lesson_status.tasks, task, [](const TaskStatus& one) { return one.task->id; });
    const bool is_chosen = chosen != lesson_status.tasks.end();
    return fmt::format("read {}, write {} in {}, then: ./course check {}{}", readme(lesson),
                       named(is_chosen ? *chosen : open), file_to_edit(lesson), lesson.id,
                       is_chosen ? "." + task : "");
  }
  if (lesson_status.stale) return fmt::format("./course check {} (its file has changed)", lesson.id);
  if (lesson_status.missing)
    return fmt::format("{}; ./course reset {} brings the skeleton back", obstacle, lesson.id);
  if (!obstacle.empty()) return fmt::format("{} {}", file_to_edit(lesson), obstacle);
  const TaskStatus& next = *lesson_status.next_task();
  if (open.unfinished && !next.is_wrong())
    return fmt::format("./course check {} (this was a part of it)", lesson.id);
  return fmt::format("{} in {}; a hint: ./course hint {}", named(next), file_to_edit(lesson), lesson.id);
}

/// "task 2", "tasks 1 and 3", "tasks 1, 2 and 3"
std::string tasks_by_number(std::vector<std::string> ids) {
  const std::string last = ids.back();
  ids.pop_back();
  return ids.empty() ? "task " + last : "tasks " + joined(ids) + " and " + last;
}

const char* state_after_part(const TaskStatus& task) {
  if (task.unplayed) return "not checked since the file changed";
  if (task.unfinished) return "passed as far as it was checked";
  if (task.status == Status::Todo) return "not written yet";
  return task.status == Status::Passed ? "passed" : "failed";
}

/// "task 3 passed; tasks 1 and 2 not checked since the file changed"
std::string score_of_part(const LessonStatus& lesson_status) {
  std::map<std::pair<bool, std::string>, std::vector<std::string>> ids;  // what was checked comes first
  for (const TaskStatus& task : lesson_status.tasks)
    ids[{task.unplayed, state_after_part(task)}].push_back(task.task->id);
  return joined(
      ids, [](const auto& group) { return tasks_by_number(group.second) + " " + group.first.second; }, "; ");
}

std::string score(const LessonStatus& lesson_status) {
  const std::vector<TaskStatus>& tasks = lesson_status.tasks;
  if (std::ranges::any_of(tasks, &TaskStatus::unfinished)) return score_of_part(lesson_status);
  const auto todo = std::ranges::count(tasks, Status::Todo, &TaskStatus::status);
  return fmt::format("{} of {} tasks passed, {}{} of {} points",
                     std::ranges::count(tasks, Status::Passed, &TaskStatus::status), tasks.size(),
                     todo > 0 ? fmt::format("{} todo, ", todo) : "", lesson_status.points(),
                     lesson_status.lesson->max_points());
}

bool is_open(const LessonStatus& lesson_status) {
  return lesson_status.status != Status::Passed && lesson_status.status != Status::Skipped;
}

/// " (03 is still to do)": the open lessons before the next one, behind which lessons have passed; empty
/// where there are none. What is next goes on from where the student is, and does not go back to them.
std::string left_behind(const std::vector<LessonStatus>& lesson_statuses, const LessonStatus& next) {
  std::vector<std::string> open, left;
  for (const LessonStatus& lesson_status : lesson_statuses) {
    if (&lesson_status == &next) break;
    if (is_open(lesson_status)) open.push_back(lesson_status.lesson->id);
    if (lesson_status.status == Status::Passed) left = open;
  }
  return left.empty() ? ""
                      : fmt::format(" ({} {} still to do)", listed(left), left.size() == 1 ? "is" : "are");
}

}  // namespace

std::string open_tasks(const LessonStatus& lesson_status) {
  std::vector<std::string> parts;
  for (const char* state : {"failed", "todo", "checked in part", "not checked"}) {
    std::vector<std::string> ids;
    for (const TaskStatus& task : lesson_status.tasks) {
      if (task.status != Status::Passed && state_of_open(task) == state) ids.push_back(task.task->id);
    }
    if (!ids.empty())
      parts.push_back(fmt::format("task{} {} {}", ids.size() > 1 ? "s" : "", joined(ids), state));
  }
  return joined(parts);
}

const LessonStatus* next_open(const std::vector<LessonStatus>& lesson_statuses, const std::string& current) {
  const auto start = std::ranges::find_if(lesson_statuses, [&](const LessonStatus& lesson_status) {
    return lesson_status.lesson->id == current;
  });
  auto next = std::find_if(start, lesson_statuses.end(), is_open);
  if (next == lesson_statuses.end()) next = std::ranges::find_if(lesson_statuses, is_open);
  return next == lesson_statuses.end() ? nullptr : &*next;
}

std::string next_step(const std::vector<LessonStatus>& lesson_statuses, const std::string& current,
                      const std::string& task) {
  const LessonStatus* next = next_open(lesson_statuses, current);
  if (next == nullptr) return "every lesson that this machine can play is passed";
  return fmt::format("next: lesson {}: {}{}", next->lesson->id,
                     step_in(*next, next->lesson->id == current ? task : ""),
                     left_behind(lesson_statuses, *next));
}

std::string apart_text(const LessonStatus& lesson_status, const std::string& how) {
  const std::string& id = lesson_status.lesson->id;
  const TaskStatus* next = lesson_status.next_task();
  return fmt::format("lesson {} {}: {}\n", id, how, score(lesson_status)) +
         (next == nullptr ? "" : fmt::format("next: {}; a hint: ./course hint {}\n", named(*next), id));
}

std::string verdict_text(const Checkout& checkout, const LessonStatus& lesson_status,
                         const std::string& task) {
  const std::string& id = lesson_status.lesson->id;
  const bool passed = lesson_status.status == Status::Passed;
  const std::string where = lesson_status.lesson->needs_gpu() ? " on the simulated GPU" : "";
  const std::string title = fmt::format("lesson {}{}{}:", id, passed ? " passed" : "", where);
  return fmt::format("{} {}\n{}\n", painted(title, passed ? Colour::Green : Colour::Bold),
                     lesson_status.status == Status::Todo ? "it is still the skeleton" : score(lesson_status),
                     next_step(all_lesson_statuses(checkout), id, task));
}

int show_status(const Checkout& checkout, bool json) {
  const std::vector<LessonStatus> lesson_statuses = all_lesson_statuses(checkout);
  if (json) {
    fmt::print("{}\n", report_json(lesson_statuses));
    return succeeded;
  }
  int points = 0;
  int max_points = 0;
  std::string part;
  for (const LessonStatus& lesson_status : lesson_statuses) {
    if (std::exchange(part, lesson_status.lesson->part) != lesson_status.lesson->part)
      fmt::print("{}\n", painted(part, Colour::Bold));
    fmt::print("{}", fitted(lesson_line(lesson_status)));
    points += lesson_status.points();
    // What this machine cannot play is counted apart.
    if (lesson_status.status != Status::Skipped) max_points += lesson_status.lesson->max_points();
  }
  fmt::print("\n{} {} of {} points\n{}", bar(points, max_points), points, max_points,
             fitted(next_step(lesson_statuses, read_progress(checkout).current) + "\n"));
  return succeeded;
}

}  // namespace course::program
