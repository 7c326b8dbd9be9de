#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

#include "grader/report.hpp"
#include "grader/shown_text.hpp"

namespace course::grader {

using program::LessonStatus;
using program::Status;
using program::TaskStatus;

namespace {

void set(pugi::xml_node element, const char* attribute, const std::string& value) {
  element.append_attribute(attribute).set_value(presentable(value).c_str());
}

void set_seconds(pugi::xml_node element, double seconds) {
  set(element, "time", fmt::format("{:.3f}", seconds));
}

std::size_t count(const LessonStatus& lesson, bool skipped) {
  return static_cast<std::size_t>(
      std::count_if(lesson.tasks.begin(), lesson.tasks.end(), [&](const TaskStatus& task) {
        return skipped ? task.status == Status::Skipped
                       : task.status == Status::Failed || task.status == Status::Todo;
      }));
}

void add_properties(pugi::xml_node suite, const Report& report, const LessonStatus& lesson) {
  pugi::xml_node properties = suite.append_child("properties");
  const auto add = [&](const char* name, const std::string& value) {
    pugi::xml_node property = properties.append_child("property");
    set(property, "name", name);
    set(property, "value", value);
  };
  add("submission", report.submission);
  add("files_hash", report.files_hash);
  add("points", std::to_string(lesson.points()));
  add("max_points", std::to_string(lesson.lesson->max_points()));
  add("seed", std::to_string(report.manifest.seed));
  add("isolation", to_string(report.manifest.isolation));
  add("commit", report.manifest.commit);
  add("compiler", report.manifest.compiler);
}

/// How each of the task's tests went, hidden ones too: names and outcomes, no text of a judge's.
std::string outcomes(const LessonGrade& grade, const TaskInfo& task) {
  std::string text;
  for (const TaskTest& test : tests_of(grade, task)) {
    text += fmt::format("{}.{}: {}\n", grade.lesson_status.lesson->tag(), test.name, to_string(test.status));
  }
  return text;
}

void add_testcase(pugi::xml_node suite, const LessonGrade& grade, const TaskStatus& task) {
  const LessonInfo& lesson = *grade.lesson_status.lesson;
  pugi::xml_node testcase = suite.append_child("testcase");
  set(testcase, "classname", "course.lesson" + lesson.id);
  set(testcase, "name", title_of(lesson, *task.task));
  if (task.status != Status::Passed) {
    const std::string diagnosis = diagnosis_of(grade, task);
    const bool skipped = task.status == Status::Skipped;
    pugi::xml_node verdict = testcase.append_child(skipped ? "skipped" : "failure");
    set(verdict, "message", diagnosis.substr(0, diagnosis.find('\n')));
    set(verdict, "type", to_string(task.status));
    verdict.text().set(diagnosis.c_str());
  }
  const std::string tests = outcomes(grade, *task.task);
  if (!tests.empty()) testcase.append_child("system-out").text().set(presentable(tests).c_str());
}

void add_suite(pugi::xml_node suites, const Report& report, const LessonGrade& grade) {
  const LessonStatus& lesson = grade.lesson_status;
  pugi::xml_node suite = suites.append_child("testsuite");
  set(suite, "name", lesson.lesson->tag());
  set(suite, "tests", std::to_string(lesson.tasks.size()));
  set(suite, "failures", std::to_string(count(lesson, false)));
  set(suite, "errors", "0");
  set(suite, "skipped", std::to_string(count(lesson, true)));
  set_seconds(suite, grade.seconds);
  add_properties(suite, report, lesson);
  for (const TaskStatus& task : lesson.tasks) add_testcase(suite, grade, task);
}

}  // namespace

std::string junit_report(const Report& report) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  set(declaration, "version", "1.0");
  set(declaration, "encoding", "UTF-8");
  pugi::xml_node suites = document.append_child("testsuites");
  std::size_t tests = 0, failures = 0;
  for (const LessonGrade& grade : report.lessons) {
    tests += grade.lesson_status.tasks.size();
    failures += count(grade.lesson_status, false);
  }
  set(suites, "name", report.submission);
  set(suites, "tests", std::to_string(tests));
  set(suites, "failures", std::to_string(failures));
  set(suites, "errors", "0");
  set_seconds(suites, report.seconds);
  for (const LessonGrade& grade : report.lessons) add_suite(suites, report, grade);
  std::ostringstream text;
  document.save(text, "  ", pugi::format_default, pugi::encoding_utf8);
  return text.str();
}

}  // namespace course::grader
