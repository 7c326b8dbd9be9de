#pragma once

#include <string>
#include <vector>

#include "grader/lesson_grade.hpp"

namespace course::grader {

/// As much of a text as a report shows, in bytes.
inline constexpr std::size_t longest_text = 10'000;

/// A text that any format can carry (clean_utf8); when it is longer than longest_text its beginning and a
/// word on that.
std::string presentable(const std::string& text);

/// One test of a task, public or hidden.
struct TaskTest {
  std::string name;  ///< "2.ranks3.hidden"
  int ranks = 0;     ///< 0: the task is played on one rank only
  bool hidden = false;
  program::Status status = program::Status::Failed;
};

/// The tests of a task that were played, public ones first, each kind in the order of its world sizes.
std::vector<TaskTest> tests_of(const LessonGrade& grade, const TaskInfo& task);

/// "05.2 ring attention"
std::string title_of(const LessonInfo& lesson, const TaskInfo& task);

/// Why a task is not passed, presentable, with the world sizes that it fails on; empty on a pass. What the
/// judge said of a hidden test is not in it, since code that is played can put what it was given into that,
/// as a tag of MPI_Send's for instance: a mistake that was recognised is told in the registry's words.
std::string diagnosis_of(const LessonGrade& grade, const program::TaskStatus& task);

}  // namespace course::grader
