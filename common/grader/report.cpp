#include "grader/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "course/report_json.hpp"
#include "course/text_file.hpp"
#include "grader/shown_text.hpp"

namespace course::grader {

using Json = nlohmann::ordered_json;
using program::LessonStanding;
using program::Status;
using program::TaskStanding;

namespace {

int max_points_of(const Report& report, bool skipped) {
  int sum = 0;
  for (const LessonGrade& grade : report.lessons) {
    if ((grade.standing.status == Status::Skipped) == skipped) sum += grade.standing.lesson->max_points();
  }
  return sum;
}

std::string task_text(const LessonStanding& lesson, const TaskStanding& task) {
  std::string text =
      fmt::format("  {:<6} {}.{} {}: {} of {} points\n", to_string(task.status), lesson.lesson->id,
                  task.task->id, task.task->name, task.points(), task.task->points);
  for (const std::string& line : program::lines_of(presentable(task.diagnosis)))
    text += "         " + line + "\n";
  return text;
}

std::string lesson_text(const LessonStanding& lesson) {
  std::string text =
      fmt::format("lesson {} {}: {}, {} of {} points\n", lesson.lesson->id, lesson.lesson->name,
                  to_string(lesson.status), lesson.points(), lesson.lesson->max_points());
  for (const TaskStanding& task : lesson.tasks) text += task_text(lesson, task);
  return text;
}

Json tests_json(const LessonGrade& grade) {
  Json tests = Json::array();
  for (const auto& [name, result] : grade.tests) {
    tests.push_back({{"name", "lesson" + grade.standing.lesson->id + "." + name},
                     {"hidden", name.ends_with(program::hidden_suffix)},
                     {"status", to_string(result.status)},
                     {"text", result.text},
                     {"mistakes", result.mistakes}});
  }
  return tests;
}

}  // namespace

bool Report::is_complete() const {
  return std::ranges::none_of(lessons, &LessonGrade::failed);
}

int Report::points() const {
  int sum = 0;
  for (const LessonGrade& grade : lessons) sum += grade.standing.points();
  return sum;
}

int Report::max_points() const {
  return max_points_of(*this, false);
}

int Report::skipped_max_points() const {
  return max_points_of(*this, true);
}

std::string text_report(const Report& report) {
  std::string text;
  for (const LessonGrade& grade : report.lessons) text += lesson_text(grade.standing);
  text += fmt::format("{}: {} of {} points", report.submission, report.points(), report.max_points());
  if (report.skipped_max_points() > 0) {
    text += fmt::format("; {} points could not be graded on this machine", report.skipped_max_points());
  }
  return text + fmt::format("\ngraded in {:.1f} s with seed {}, isolation {}, commit {}, {}\n",
                            report.seconds, report.terms.seed, to_string(report.terms.isolation),
                            report.terms.commit, report.terms.compiler);
}

std::string json_report(const Report& report) {
  std::vector<LessonStanding> standings;
  for (const LessonGrade& grade : report.lessons) standings.push_back(grade.standing);
  Json json = Json::parse(program::report_json(standings));
  for (std::size_t i = 0; i < report.lessons.size(); ++i)
    json["lessons"][i]["tests"] = tests_json(report.lessons[i]);
  json["submission"] = report.submission;
  json["complete"] = report.is_complete();
  json["points"] = report.points();
  json["max_points"] = report.max_points();
  json["skipped_max_points"] = report.skipped_max_points();
  json["seconds"] = report.seconds;
  json["files_hash"] = report.files_hash;
  json["terms"] = to_json(report.terms);
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace course::grader
