#include "course/drill/drill_history.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "course/build/file_lock.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/saved_results.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DrillRecord, lesson, task, date, seconds, checks, passed)

namespace {

constexpr int drills_version = 1;

fs::path drills_file(const Checkout& checkout) {
  return checkout.state() / "drill.json";
}

std::vector<DrillRecord> parse_drills(const std::string& text) {
  const nlohmann::json value = nlohmann::json::parse(text);
  if (value.at("version") != drills_version)
    throw std::invalid_argument("its version is " + value.at("version").dump());
  return value.at("drills").get<std::vector<DrillRecord>>();
}

std::optional<double> best_time(const std::vector<DrillRecord>& drills) {
  std::optional<double> best;
  for (const DrillRecord& drill : drills) {
    if (drill.passed && (!best || drill.seconds < *best)) best = drill.seconds;
  }
  return best;
}

std::string outcome(const DrillRecord& drill) {
  return drill.passed ? duration(drill.seconds) : "given up";
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
  const fs::path file = drills_file(checkout);
  if (!fs::exists(file)) return {};
  try {
    return parse_drills(read_text(file));
  } catch (const std::exception& error) {
    put_aside(checkout, file, "what was remembered of your drills", error.what());
    return {};
  }
}

void remember_drill(const Checkout& checkout, const DrillRecord& record) {
  const FileLock lock(checkout.state() / ".lock", "another ./course to write down its results");
  std::vector<DrillRecord> drills = read_drills(checkout);
  drills.push_back(record);
  write_text(drills_file(checkout),
             nlohmann::json{{"version", drills_version}, {"drills", drills}}.dump(1) + "\n");
}

std::vector<DrillRecord> drills_of(const std::vector<DrillRecord>& all, const std::string& lesson,
                                   const std::string& task) {
  std::vector<DrillRecord> chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](const DrillRecord& drill) {
    return (lesson.empty() || drill.lesson == lesson) && (task.empty() || drill.task == task);
  });
  return chosen;
}

std::string drill_table(const std::vector<DrillRecord>& drills, const std::vector<LessonInfo>& lessons) {
  std::map<std::string, std::vector<DrillRecord>> by_task;
  for (const DrillRecord& drill : drills) by_task[drill.lesson + "." + drill.task].push_back(drill);
  std::string text = fmt::format("{:<6} {:<28} {:>6} {:>6}  {:<13} {:<13} {}\n", "drill", "task", "tries",
                                 "passed", "best", "last", "on");
  for (const auto& [name, tries] : by_task) {
    const std::optional<double> best = best_time(tries);
    const auto passed =
        std::count_if(tries.begin(), tries.end(), [](const DrillRecord& drill) { return drill.passed; });
    text += fmt::format("{:<6} {:<28} {:>6} {:>6}  {:<13} {:<13} {}\n", name,
                        task_name(lessons, tries.front()), tries.size(), passed, best ? duration(*best) : "-",
                        outcome(tries.back()), tries.back().date);
  }
  return text;
}

std::string drill_list(const std::vector<DrillRecord>& drills) {
  std::string text;
  for (const DrillRecord& drill : drills) {
    text += fmt::format("  {}   {:<13} {} check{}{}\n", drill.date, duration(drill.seconds), drill.checks,
                        drill.checks == 1 ? "" : "s", drill.passed ? "" : ", given up");
  }
  if (const std::optional<double> best = best_time(drills)) text += "  best: " + duration(*best) + "\n";
  return text;
}

}  // namespace course::program
