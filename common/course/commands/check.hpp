#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "course/workspace/checkout.hpp"
#include "course/workspace/contract.hpp"
#include "course/workspace/lesson_status.hpp"

namespace course::program {

struct CheckOptions {
  std::string lesson;  ///< as choose_lesson understands it
  std::string task;
  std::optional<int> ranks;
  std::optional<std::uint64_t> seed;
  /// A command in place of the built-in player; then nothing of the student's is compiled.
  std::optional<std::string> player;
  bool sanitize = false;
  bool json = false;
  bool problems = false;  ///< a line for each task that is not passed, in the form of a compiler's, on stderr
};

/// A task that is not passed as a compiler would say it: "FILE:LINE: error: lesson05.2: what is wrong; looks
/// like: ...".
std::string problem_line(const TaskPlace& place, const LessonInfo& lesson, const TaskStatus& task);

/// Grades the student's files of one lesson and prints the verdict. Returns the exit code.
int check(const Checkout& checkout, const CheckOptions& options);

}  // namespace course::program
