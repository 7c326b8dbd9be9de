#pragma once

#include <string>
#include <vector>

namespace course::demo {

/// A run of the MPI program on this machine.
struct LaunchPlan {
  std::vector<std::string> arguments;  ///< for each rank
  int ranks = 1;
  /// Without a sign of life from any rank for so long, all are ended.
  double patience_s = 60;
  int columns = 100;
  bool colour = false;
};

/// Starts mpirun, shows progress, prints the report. A rank that crashes, throws, stands still or does
/// nothing ends the run with one message on stderr. Returns the exit code; nothing that was started outlives
/// the call.
int launch(const LaunchPlan& plan);

}  // namespace course::demo
