#pragma once

#include <string>
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

/// The same for an argument that must not name a task; `command` is for the message.
const LessonInfo& choose_whole_lesson(const std::vector<LessonInfo>& lessons, const std::string& argument,
                                      const std::string& command);

/// Throws UsageError that names the lesson's tasks unless `task` is one of them.
void require_task(const LessonInfo& lesson, const std::string& task);

}  // namespace course::program
