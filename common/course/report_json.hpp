#pragma once

#include <string>
#include <vector>

#include "course/standing.hpp"

namespace course::program {

/// The one object of --json: lessons[] of id, name, status, points, max_points, files[], tasks[].
std::string report_json(const std::vector<LessonStanding>& standings);

}  // namespace course::program
