#include "course/status.hpp"

#include <fmt/core.h>

#include "course/errors.hpp"
#include "course/next_step.hpp"
#include "course/report_json.hpp"
#include "course/terminal.hpp"

namespace course::program {

namespace {

constexpr int bar_width = 40;

struct Mark {
  const char* symbol;
  const char* plain;  ///< where the locale is not UTF-8
  Colour colour;
  const char* word;
};

Mark mark_of(const LessonStanding& standing) {
  if (standing.stale) return {"~", "~", Colour::Yellow, "not checked since it changed"};
  switch (standing.status) {
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
std::string open_tasks(const LessonStanding& standing) {
  std::string text;
  for (const Status status : {Status::Failed, Status::Todo}) {
    std::string ids;
    for (const TaskStanding& task : standing.tasks) {
      if (task.status == status) ids += (ids.empty() ? "" : ", ") + task.task->id;
    }
    if (ids.empty()) continue;
    text += fmt::format("{}task{} {} {}", text.empty() ? "" : ", ", ids.size() > 1 ? "s" : "", ids,
                        to_string(status));
  }
  return text;
}

std::string lesson_line(const LessonStanding& standing) {
  const LessonInfo& lesson = *standing.lesson;
  const Mark mark = mark_of(standing);
  std::string word = mark.word;
  const bool played = standing.status == Status::Failed && !standing.stale && standing.obstacle.empty();
  if (played) word += ": " + open_tasks(standing);
  if (standing.status == Status::Skipped) word += ": " + standing.tasks.front().diagnosis;
  return fmt::format("  {} {} {:<34} {:>3} of {:>3}  {}\n",
                     painted(utf8() ? mark.symbol : mark.plain, mark.colour), lesson.id, lesson.title,
                     standing.points(), lesson.max_points(), word);
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
  const std::vector<LessonStanding> standings = all_standings(checkout);
  if (json) {
    fmt::print("{}\n", report_json(standings));
    return succeeded;
  }
  int points = 0;
  int max_points = 0;
  std::string part;
  for (const LessonStanding& standing : standings) {
    if (standing.lesson->part != part) fmt::print("{}\n", painted(standing.lesson->part, Colour::Bold));
    part = standing.lesson->part;
    fmt::print("{}", lesson_line(standing));
    points += standing.points();
    // What this machine cannot play is counted apart.
    if (standing.status != Status::Skipped) max_points += standing.lesson->max_points();
  }
  fmt::print("\n{} {} of {} points\n{}\n", bar(points, max_points), points, max_points,
             next_step(standings, ""));
  return succeeded;
}

}  // namespace course::program
