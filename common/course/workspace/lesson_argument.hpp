#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "registry/registry.hpp"

namespace course::program {

/// A lesson, and perhaps one of its tasks, as named on the command line.
struct LessonChoice {
  const LessonInfo* lesson;
  std::string task;  ///< empty: all of them
};

/// Understands "05", "5", "05.2", "ring_attention", "ring_attention.2", "05_ring_attention" and the path of a
/// lesson's folder or of a file in it. Throws UsageError that names what there is.
LessonChoice choose_lesson(const std::vector<LessonInfo>& lessons, const std::string& argument);

/// The same with a task that is named apart ("--task 2"; may be empty). Throws UsageError where the two
/// differ.
LessonChoice choose_lesson(const std::vector<LessonInfo>& lessons, const std::string& argument,
                           const std::string& task);

/// The same for an argument that must not name a task; `command` is for the message.
const LessonInfo& choose_whole_lesson(const std::vector<LessonInfo>& lessons, const std::string& argument,
                                      std::string_view command);

/// Several lessons, in the order of `lessons`: "05", "01,03", "03-05" or "01,03-05", each end as
/// choose_lesson understands it. Throws UsageError that names what is wrong.
std::vector<LessonInfo> choose_lessons(const std::vector<LessonInfo>& lessons, const std::string& argument,
                                       std::string_view command);

/// Throws UsageError that names the lesson's tasks unless `task` is one of them.
void require_task(const LessonInfo& lesson, const std::string& task);

}  // namespace course::program
