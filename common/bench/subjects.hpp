#pragma once

#include <map>
#include <string>
#include <vector>

#include "registry/registry.hpp"

namespace course::bench {

/// What is known of a lesson that the bench times.
struct BenchLesson {
  Role role;
  std::string id;       ///< empty: this checkout does not hold it
  bool solved = false;  ///< its solution is here
  bool passed = false;  ///< the student's own passes as it stands
};

/// Whose code is timed.
struct Subjects {
  std::map<Role, std::string> chosen;  ///< "student" or "solution"
  std::vector<std::string> left_out;   ///< why, one line a lesson
};

/// The solutions, or the student's own with `mine` and where there is no solution. A lesson that is not held
/// or whose code may be wrong is left out.
Subjects choose_subjects(const std::vector<BenchLesson>& lessons, bool mine);

}  // namespace course::bench
