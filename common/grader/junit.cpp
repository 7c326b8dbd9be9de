#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

#include "grader/report.hpp"

namespace course::program::grader {

namespace {

/// How many of some tasks there are.
struct Counts {
  std::size_t tests = 0, failures = 0, skipped = 0;
};

Counts count(const LessonStatus& lesson) {
  const auto of = [&](Status status) {
    return static_cast<std::size_t>(std::ranges::count(lesson.tasks, status, &TaskStatus::status));
  };
  return {lesson.tasks.size(), of(Status::Failed) + of(Status::Todo), of(Status::Skipped)};
}

template <class Value>
void set(pugi::xml_node element, const char* attribute, const Value& value) {
  element.append_attribute(attribute).set_value(presentable(fmt::format("{}", value)).c_str());
}

/// The attributes that a suite and the whole have in common.
void describe(pugi::xml_node element, const std::string& name, const Counts& counts, double seconds) {
  set(element, "name", name);
  set(element, "tests", counts.tests);
  set(element, "failures", counts.failures);
  set(element, "errors", 0);
  set(element, "time", fmt::format("{:.3f}", seconds));
}

void add_properties(pugi::xml_node suite, const Report& report, const LessonStatus& lesson) {
  pugi::xml_node properties = suite.append_child("properties");
  const auto add = [&](const char* name, const auto& value) {
    pugi::xml_node property = properties.append_child("property");
    set(property, "name", name);
    set(property, "value", value);
  };
  add("submission", report.submission);
  add("files_hash", report.files_hash());
  add("points", lesson.points());
  add("max_points", lesson.lesson->max_points());
  add("seed", report.manifest.seed);
  add("isolation", to_string(report.manifest.isolation));
  add("commit", report.manifest.commit);
  add("compiler", report.manifest.compiler);
}

void add_testcase(pugi::xml_node suite, const LessonGrade& grade, const TaskStatus& task) {
  const LessonInfo& lesson = *grade.lesson_status.lesson;
  pugi::xml_node testcase = suite.append_child("testcase");
  set(testcase, "classname", "course." + lesson.tag());
  set(testcase, "name", title_of(lesson, *task.task));
  if (task.status != Status::Passed) {
    const std::string diagnosis = diagnosis_of(grade, task);
    pugi::xml_node verdict = testcase.append_child(task.status == Status::Skipped ? "skipped" : "failure");
    set(verdict, "message", diagnosis.substr(0, diagnosis.find('\n')));
    set(verdict, "type", to_string(task.status));
    verdict.text().set(diagnosis.c_str());
  }
  // How each of the task's tests went, hidden ones too: names and outcomes, no text of a judge's.
  std::string outcomes;
  for (const TaskTest& test : tests_of(grade, *task.task))
    outcomes += fmt::format("{}.{}: {}\n", lesson.tag(), test.name, to_string(test.status));
  if (!outcomes.empty()) testcase.append_child("system-out").text().set(presentable(outcomes).c_str());
}

void add_suite(pugi::xml_node suites, const Report& report, const LessonGrade& grade) {
  const LessonStatus& lesson = grade.lesson_status;
  pugi::xml_node suite = suites.append_child("testsuite");
  describe(suite, lesson.lesson->tag(), count(lesson), grade.seconds);
  set(suite, "skipped", count(lesson).skipped);
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
  Counts all;
  for (const LessonGrade& grade : report.lessons) {
    all.tests += count(grade.lesson_status).tests;
    all.failures += count(grade.lesson_status).failures;
  }
  describe(suites, report.submission, all, report.seconds);
  for (const LessonGrade& grade : report.lessons) add_suite(suites, report, grade);
  std::ostringstream text;
  document.save(text, "  ", pugi::format_default, pugi::encoding_utf8);
  return text.str();
}

}  // namespace course::program::grader
