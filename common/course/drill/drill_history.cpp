#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "course/drill/drill.hpp"
#include "course/workspace/saved_json.hpp"

namespace course::program {

/// What .course/drill.json holds.
struct DrillHistory {
  std::vector<DrillRecord> drills;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DrillRecord, lesson, task, date, seconds, checks, passed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DrillHistory, drills)

namespace {

constexpr const char* drills_file = "drill.json";
constexpr const char* drills_in_words = "what was remembered of your drills";

/// The best time, "-" where none was passed.
std::string best_time(const std::vector<DrillRecord>& drills) {
  const DrillRecord* best = nullptr;
  for (const DrillRecord& drill : drills) {
    if (drill.passed && (best == nullptr || drill.seconds < best->seconds)) best = &drill;
  }
  return best == nullptr ? "-" : duration(best->seconds);
}

std::string task_name(const std::vector<LessonInfo>& lessons, const DrillRecord& drill) {
  for (const LessonInfo& lesson : lessons) {
    for (const TaskInfo& task : lesson.tasks) {
      if (lesson.id == drill.lesson && task.id == drill.task) return task.name;
    }
  }
  return "";  // of another version of the course
}

}  // namespace

std::vector<DrillRecord> read_drills(const Checkout& checkout) {
  return read_saved<DrillHistory>(checkout, drills_file, drills_in_words).drills;
}

void remember_drill(const Checkout& checkout, const DrillRecord& record) {
  update_saved<DrillHistory>(checkout, drills_file, drills_in_words,
                             [&](DrillHistory& history) { history.drills.push_back(record); });
}

std::vector<DrillRecord> drills_of(std::vector<DrillRecord> all, const std::string& lesson,
                                   const std::string& task) {
  std::erase_if(all, [&](const DrillRecord& drill) {
    return (!lesson.empty() && drill.lesson != lesson) || (!task.empty() && drill.task != task);
  });
  return all;
}

std::string drill_table(const std::vector<DrillRecord>& drills, const std::vector<LessonInfo>& lessons) {
  constexpr const char* row = "{:<6} {:<28} {:>6} {:>6}  {:<13} {:<13} {}\n";
  std::map<std::string, std::vector<DrillRecord>> by_task;
  for (const DrillRecord& drill : drills) by_task[drill.lesson + "." + drill.task].push_back(drill);
  std::string text = fmt::format(row, "drill", "task", "tries", "passed", "best", "last", "on");
  for (const auto& [name, tries] : by_task) {
    const DrillRecord& last = tries.back();
    text += fmt::format(row, name, task_name(lessons, last), tries.size(),
                        std::ranges::count(tries, true, &DrillRecord::passed), best_time(tries),
                        last.passed ? duration(last.seconds) : "given up", last.date);
  }
  return text;
}

std::string drill_list(const std::vector<DrillRecord>& drills) {
  std::string text;
  for (const DrillRecord& drill : drills) {
    text += fmt::format("  {}   {:<13} {} check{}{}\n", drill.date, duration(drill.seconds), drill.checks,
                        drill.checks == 1 ? "" : "s", drill.passed ? "" : ", given up");
  }
  const std::string best = best_time(drills);
  return best == "-" ? text : text + "  best: " + best + "\n";
}

}  // namespace course::program
