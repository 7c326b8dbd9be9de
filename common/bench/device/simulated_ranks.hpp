#pragma once

#ifndef __CUDACC__
#include <mpi.h>

#include "gpu/nccl/nccl.hpp"
#endif

namespace course::bench::device {

/// While it lives, NCCL of simulated GPUs connects the ranks of MPI_COMM_WORLD: a player sees to it for
/// lessons. On devices it is nothing.
class SimulatedRanks {
 public:
#ifdef __CUDACC__
  SimulatedRanks() {}
  ~SimulatedRanks() {}
#else
  SimulatedRanks() {
    gpu::nccl::begin(MPI_COMM_WORLD, [](const PendingOperation&) {});
  }
  ~SimulatedRanks() {
    gpu::nccl::end(true);
  }
#endif
  SimulatedRanks(const SimulatedRanks&) = delete;
  SimulatedRanks& operator=(const SimulatedRanks&) = delete;
};

}  // namespace course::bench::device
