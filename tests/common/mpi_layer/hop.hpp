#pragma once

#include <mpi.h>

#include <array>
#include <functional>
#include <vector>

#include "playing.hpp"

namespace mpi_layer_tests {

inline const Options guarded{.synchronous_sends = true, .guard_buffers = true};

/// A message each way round the ring, started but not waited for.
struct Hop {
  std::array<float, 4> out{1, 2, 3, 4};
  std::array<float, 4> in{-1, -1, -1, -1};
  std::array<MPI_Request, 2> requests{};

  void start(int sent = 4) {
    MPI_Irecv(in.data(), 4, MPI_FLOAT, previous, 0, comm, &requests[0]);
    MPI_Isend(out.data(), sent, MPI_FLOAT, next, 0, comm, &requests[1]);
  }
  void wait() { MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE); }
  bool test() {
    int done = 0;
    MPI_Testall(2, requests.data(), &done, MPI_STATUSES_IGNORE);
    return done != 0;
  }
};

/// A block computation.
inline void compute(
    const std::function<void()>& between_tiles = [] {},
    const std::vector<course::ComputeBuffer>& buffers = {}) {
  compute_observer().begin(buffers);
  between_tiles();
  compute_observer().end();
}

}  // namespace mpi_layer_tests
