#pragma once

#include <filesystem>

#include "lab/network.hpp"
#include "lab/plan.hpp"

namespace course::lab {

/// How a plan is to be carried out.
struct LaunchOrder {
  int ranks = 2;
  double limit_s = 120;              ///< then it is ended
  const Network* network = nullptr;  ///< null: shared memory of this machine
};

/// Starts the MPI program with the plan, shows its progress, and returns its result. Nothing that was started
/// outlives the call. Throws std::runtime_error with what a rank or mpirun had to say, Unavailable where
/// mpirun cannot be started.
Result launch(Plan plan, const LaunchOrder& order, const std::filesystem::path& temporary);

}  // namespace course::lab
