#pragma once

#include <string>

#include "course/workspace/checkout.hpp"

namespace course::bench {

/// How kernels and rings are timed on a GPU.
struct DeviceContest {
  std::string backend = {};  ///< "cuda", or "sim": so little, on simulated GPUs, that only the path is tried
  bool mine = false;         ///< the student's lessons, which are the default where no solution is here
  bool json = false;
};

/// Builds the programs of common/bench/device and runs them; returns their exit code. Throws Unavailable with
/// what is missing: nvcc, a device, the simulator.
int time_on_device(const program::Checkout& checkout, const DeviceContest& contest);

}  // namespace course::bench
