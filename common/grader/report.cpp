#include "grader/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "course/commands/report_json.hpp"
#include "grader/shown_text.hpp"
#include "text/text_file.hpp"

namespace course::grader {

using Json = nlohmann::ordered_json;
using program::LessonStatus;
using program::Status;
using program::TaskStatus;

namespace {

int max_points_of(const Report& report, bool skipped) {
  int sum = 0;
  for (const LessonGrade& grade : report.lessons) {
    if ((grade.lesson_status.status == Status::Skipped) == skipped)
      sum += grade.lesson_status.lesson->max_points();
  }
  return sum;
}

std::string task_text(const LessonStatus& lesson, const TaskStatus& task) {
  std::string text =
      fmt::format("  {:<6} {}.{} {}: {} of {} points\n", to_string(task.status), lesson.lesson->id,
                  task.task->id, task.task->name, task.points(), task.task->points);
  for (const std::string& line : lines_of(presentable(task.diagnosis))) text += "         " + line + "\n";
  return text;
}

std::string lesson_text(const LessonStatus& lesson) {
  std::string text =
      fmt::format("lesson {} {}: {}, {} of {} points\n", lesson.lesson->id, lesson.lesson->name,
                  to_string(lesson.status), lesson.points(), lesson.lesson->max_points());
  for (const TaskStatus& task : lesson.tasks) text += task_text(lesson, task);
  return text;
}

Json tests_json(const LessonGrade& grade) {
  Json tests = Json::array();
  for (const auto& [name, result] : grade.tests) {
    tests.push_back({{"name", grade.lesson_status.lesson->tag() + "." + name},
                     {"hidden", name.ends_with(hidden_suffix)},
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
  for (const LessonGrade& grade : lessons) sum += grade.lesson_status.points();
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
  for (const LessonGrade& grade : report.lessons) text += lesson_text(grade.lesson_status);
  text += fmt::format("{}: {} of {} points", report.submission, report.points(), report.max_points());
  if (report.skipped_max_points() > 0) {
    text += fmt::format("; {} points could not be graded on this machine", report.skipped_max_points());
  }
  return text + fmt::format("\ngraded in {:.1f} s with seed {}, isolation {}, commit {}, {}\n",
                            report.seconds, report.manifest.seed, to_string(report.manifest.isolation),
                            report.manifest.commit, report.manifest.compiler);
}

std::string json_report(const Report& report) {
  std::vector<LessonStatus> lesson_statuses;
  for (const LessonGrade& grade : report.lessons) lesson_statuses.push_back(grade.lesson_status);
  Json json = Json::parse(program::report_json(lesson_statuses));
  for (std::size_t i = 0; i < report.lessons.size(); ++i)
    json["lessons"][i]["tests"] = tests_json(report.lessons[i]);
  json["submission"] = report.submission;
  json["complete"] = report.is_complete();
  json["points"] = report.points();
  json["max_points"] = report.max_points();
  json["skipped_max_points"] = report.skipped_max_points();
  json["seconds"] = report.seconds;
  json["files_hash"] = report.files_hash;
  json["terms"] = to_json(report.manifest);
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace course::grader
