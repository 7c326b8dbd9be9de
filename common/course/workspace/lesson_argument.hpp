#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "registry/registry.hpp"

namespace course::program {

/// A lesson, and perhaps one of its tasks, as named on the command line.
struct LessonChoice {
  const LessonInfo* lesson = nullptr;
  std::string task;  ///< empty: all of them
};

/// The lesson "05", "5", "ring_attention" or "05_ring_attention"; null where there is none of this name.
const LessonInfo* lesson_named(const std::vector<LessonInfo>& lessons, const std::string& name);

/// Understands "05", "5", "05.2", "ring_attention", "ring_attention.2", "05_ring_attention" and the path of a
/// lesson's folder or of a file in it. `task` is a task that is named apart ("--task 2"; may be empty).
/// Throws UsageError that names what there is, and where the two tasks differ.
LessonChoice choose_lesson(const std::vector<LessonInfo>& lessons, const std::string& argument,
                           const std::string& task = "");

/// The same for an argument that must not name a task; `command` is for the message.
const LessonInfo& choose_whole_lesson(const std::vector<LessonInfo>& lessons, const std::string& argument,
                                      std::string_view command);

/// Several lessons, in the order of `lessons`: "05", "01,03", "03-05" or "01,03-05", each end as
/// choose_lesson understands it. Throws UsageError that names what is wrong.
std::vector<LessonInfo> choose_lessons(const std::vector<LessonInfo>& lessons, const std::string& argument,
                                       std::string_view command);

/// The names of a lesson's tests: of one task unless that is empty, at one world size if it is given. Throws
/// UsageError when the lesson has no such task or world size.
std::vector<std::string> selected_tests(const LessonInfo& lesson, const std::string& task = "",
                                        std::optional<int> ranks = std::nullopt);

}  // namespace course::program
