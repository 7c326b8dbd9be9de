#pragma once

#include <string>
#include <vector>

#include "course/workspace/lesson_status.hpp"

namespace course::program {

/// The one object of --json: lessons[] of id, name, status, points, max_points, files[], tasks[].
std::string report_json(const std::vector<LessonStatus>& lesson_statuses);

}  // namespace course::program
