#pragma once

#include <map>
#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::program {

struct BenchOptions {
  bool mine = false;   ///< the student's own lessons, where they pass
  bool peers = false;  ///< PyTorch's attention and a ring in PyTorch beside them
  bool json = false;
};

/// What is known of a lesson that the bench times.
struct BenchLesson {
  Role role;
  std::string id;       ///< empty: this checkout does not hold it
  bool solved = false;  ///< its solution is here
  bool passed = false;  ///< the student's own passes as it stands
};

/// Whose code is timed.
struct BenchSubjects {
  std::map<Role, std::string> libraries;  ///< their targets: lesson04_solution
  std::vector<std::string> left_out;      ///< why, one line a lesson
};

/// The solutions, or the student's own with `mine` and where there is no solution. A lesson that is not held
/// or whose code may be wrong is left out.
BenchSubjects choose_subjects(const std::vector<BenchLesson>& lessons, bool mine);

/// Builds and times blocks and the blocking ring, or those of them that there are; exit 0 whatever the ratios
/// are. Throws Unavailable when nothing can be timed, or when there is no way to get the peers.
int bench(const Checkout& checkout, const BenchOptions& options);

}  // namespace course::program
