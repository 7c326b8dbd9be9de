#include "course/commands/status.hpp"

#include <fmt/core.h>

#include "course/commands/next_step.hpp"
#include "course/commands/report_json.hpp"
#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"

namespace course::program {

namespace {

constexpr int bar_width = 40;

struct Mark {
  const char* symbol;
  const char* plain;  ///< where the locale is not UTF-8
  Colour colour;
  const char* word;
};

Mark mark_of(const LessonStatus& lesson_status) {
  if (lesson_status.stale) return {"~", "~", Colour::Yellow, "not checked since it changed"};
  switch (lesson_status.status) {
    case Status::Passed:
      return {"✓", "+", Colour::Green, "passed"};
    case Status::Failed:
      return {"✗", "x", Colour::Red, "not there yet"};
    case Status::Todo:
      return {"·", ".", Colour::Grey, "todo"};
    case Status::Skipped:
      return {"-", "-", Colour::Grey, "skipped"};
  }
  return {"", "", Colour::Grey, ""};
}

/// "task 1 failed, tasks 2, 3 todo"; empty where nothing was played.
std::string open_tasks(const LessonStatus& lesson_status) {
  std::string text;
  for (const Status status : {Status::Failed, Status::Todo}) {
    std::string ids;
    for (const TaskStatus& task : lesson_status.tasks) {
      if (task.status == status) ids += (ids.empty() ? "" : ", ") + task.task->id;
    }
    if (ids.empty()) continue;
    text += fmt::format("{}task{} {} {}", text.empty() ? "" : ", ", ids.size() > 1 ? "s" : "", ids,
                        to_string(status));
  }
  return text;
}

std::string lesson_line(const LessonStatus& lesson_status) {
  const LessonInfo& lesson = *lesson_status.lesson;
  const Mark mark = mark_of(lesson_status);
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
  const int filled = max_points > 0 ? bar_width * points / max_points : 0;
  std::string text;
  for (int i = 0; i < bar_width; ++i) {
    if (utf8()) {
      text += i < filled ? "█" : "░";
    } else {
      text += i < filled ? '#' : '-';
    }
  }
  return text;
}

}  // namespace

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
    if (lesson_status.lesson->part != part)
      fmt::print("{}\n", painted(lesson_status.lesson->part, Colour::Bold));
    part = lesson_status.lesson->part;
    fmt::print("{}", lesson_line(lesson_status));
    points += lesson_status.points();
    // What this machine cannot play is counted apart.
    if (lesson_status.status != Status::Skipped) max_points += lesson_status.lesson->max_points();
  }
  fmt::print("\n{} {} of {} points\n{}\n", bar(points, max_points), points, max_points,
             next_step(lesson_statuses, ""));
  return succeeded;
}

}  // namespace course::program
