#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "grader/report.hpp"

namespace course::program::grader {

using Json = nlohmann::ordered_json;

namespace {

/// Gradescope knows two: what is skipped must not look like a pass, as a score of 0 out of 0 would.
const char* gradescope_status(Status status) {
  return status == Status::Passed ? "passed" : "failed";
}

Json tags_of(const LessonInfo& lesson, const std::vector<int>& ranks) {
  Json tags = Json::array({lesson.tag()});
  for (const int count : ranks) tags.push_back("ranks" + std::to_string(count));
  return tags;
}

std::string output_of(const LessonGrade& grade, const TaskStatus& task) {
  if (task.status == Status::Passed) return "passed";
  if (task.status != Status::Skipped) return diagnosis_of(grade, task);
  return "skipped: the machine that grades cannot grade this lesson, which is no mistake of yours (" +
         diagnosis_of(grade, task) + ")";
}

/// What a student sees of a task.
Json task_entry(const LessonGrade& grade, const TaskStatus& task) {
  const LessonInfo& lesson = *grade.lesson_status.lesson;
  return {{"name", title_of(lesson, *task.task)},
          {"name_format", "text"},
          {"number", lesson.id + "." + task.task->id},
          {"score", task.points()},
          {"max_score", task.task->points},
          {"status", gradescope_status(task.status)},
          {"output", output_of(grade, task)},
          {"output_format", "text"},
          {"tags", tags_of(lesson, task.task->ranks)},
          {"visibility", "visible"},
          {"extra_data", {{"status", to_string(task.status)}, {"mistakes", task.mistakes}}}};
}

/// A hidden test: whether it passed, and no word about its input. It has no points, which are the task's.
Json hidden_entry(const LessonGrade& grade, const TaskInfo& task, const TaskTest& test, std::size_t place) {
  const LessonInfo& lesson = *grade.lesson_status.lesson;
  const std::vector<int> ranks = test.ranks == 0 ? std::vector<int>{} : std::vector{test.ranks};
  const std::string on =
      test.ranks == 0 ? "" : fmt::format(" on {} rank{}", test.ranks, test.ranks == 1 ? "" : "s");
  const bool passed = test.status == Status::Passed;
  return {{"name", title_of(lesson, task) + ": hidden inputs" + on},
          {"name_format", "text"},
          {"number", fmt::format("{}.{}.{}", lesson.id, task.id, place)},
          {"status", gradescope_status(test.status)},
          {"output", passed ? "passed on hidden inputs" : "not passed on hidden inputs"},
          {"output_format", "text"},
          {"tags", tags_of(lesson, ranks)},
          {"visibility", "after_published"},
          {"extra_data", {{"status", to_string(test.status)}}}};
}

void add_entries(Json& tests, const LessonGrade& grade) {
  for (const TaskStatus& task : grade.lesson_status.tasks) {
    tests.push_back(task_entry(grade, task));
    std::size_t place = 0;
    for (const TaskTest& test : tests_of(grade, *task.task)) {
      if (test.hidden) tests.push_back(hidden_entry(grade, *task.task, test, ++place));
    }
  }
}

std::string summary(const Report& report) {
  std::string text = fmt::format("{} of {} points", report.points(), report.max_points());
  for (const LessonGrade& grade : report.lessons) {
    if (grade.lesson_status.status != Status::Skipped) continue;
    text += fmt::format("\nlesson {} was skipped: its {} points could not be graded on this machine",
                        grade.lesson_status.lesson->id, grade.lesson_status.lesson->max_points());
  }
  return presentable(text);
}

/// Why lessons could not be graded; empty where all were.
std::string reason(const Report& report) {
  std::string text;
  for (const LessonGrade& grade : report.lessons) {
    if (grade.lesson_status.status != Status::Skipped) continue;
    text += (text.empty() ? "" : "\n") + ("lesson " + grade.lesson_status.lesson->id) + ": " +
            grade.lesson_status.tasks.front().diagnosis;
  }
  return presentable(text);
}

/// For the instructor: Gradescope stores it with the result and puts it into no output.
Json extra_data(const Report& report) {
  Json data{{"submission", presentable(report.submission)},
            {"files_hash", report.files_hash()},
            {"max_points", report.max_points()},
            {"skipped_max_points", report.skipped_max_points()},
            {"terms", to_json(report.manifest)}};
  // The word that run_autograder uses for a submission without any grade.
  if (const std::string why = reason(report); !why.empty()) data["reason"] = why;
  return data;
}

}  // namespace

std::string gradescope_report(const Report& report) {
  Json tests = Json::array();
  for (const LessonGrade& grade : report.lessons) add_entries(tests, grade);
  const Json results{{"score", report.points()},         {"output", summary(report)},
                     {"output_format", "text"},          {"execution_time", report.seconds},
                     {"visibility", "visible"},          {"stdout_visibility", "hidden"},
                     {"extra_data", extra_data(report)}, {"tests", tests}};
  return results.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace course::program::grader
