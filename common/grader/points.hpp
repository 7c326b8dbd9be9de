#pragma once

#include <filesystem>
#include <vector>

#include "registry/registry.hpp"

namespace course::grader {

/// Sets points of tasks as a JSON file says: {"05": {"1": 20, "2": 80}}. What it does not name stays. Throws
/// UsageError naming the lesson, the task or the value that is wrong.
void override_points(std::vector<LessonInfo>& lessons, const std::filesystem::path& file);

}  // namespace course::grader
