#pragma once

#include <string>
#include <vector>

#include "grader/lesson_grade.hpp"

namespace course::grader {

/// The grades of one submission.
struct Report {
  std::string submission;  ///< its folder's name
  GradingManifest manifest;
  std::string files_hash;  ///< of all that was handed in
  std::vector<LessonGrade> lessons;
  double seconds = 0;  ///< that grading took

  bool is_complete() const;  ///< the grader failed at no lesson
  int points() const;
  int max_points() const;          ///< of what could be graded
  int skipped_max_points() const;  ///< of lessons that this machine cannot grade
};

/// For an instructor's terminal.
std::string text_report(const Report& report);
/// One object: lessons[] as everywhere in the course, and what was graded how.
std::string json_report(const Report& report);
/// For continuous integration and for instructors, as Surefire writes and Jenkins reads it: a suite a lesson,
/// a testcase a task. What is still to do is a failure of type "todo". Only suites have a time, since a
/// lesson's tasks are played together. Source: the schema junit-10.xsd of Jenkins' xUnit plugin,
/// https://github.com/jenkinsci/xunit-plugin
std::string junit_report(const Report& report);
/// Gradescope's results.json. A test a task with its points; and one without points for each hidden test,
/// that students see once grades are published: as long as a test is hidden they do not see their total, and
/// "hidden" would be for ever. The manifest are in extra_data alone.
/// Source: https://gradescope-autograders.readthedocs.io/en/latest/specs/
std::string gradescope_report(const Report& report);

}  // namespace course::grader
