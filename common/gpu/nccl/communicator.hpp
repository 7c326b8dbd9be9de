#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "gpu/nccl/nccl.hpp"

namespace course::gpu::nccl {

/// One rank's end of a communicator.
class Communicator {
 public:
  MPI_Comm mpi = MPI_COMM_NULL;
  std::vector<int> case_ranks = {};  ///< by its ranks: the rank in the case
  int rank = 0;
  std::uint64_t number = 0;        ///< the same on all of its ranks
  OperationNumber last = 0;        ///< operations follow one another on it, whatever their streams
  std::vector<int> sent = {};      ///< messages to each rank so far
  std::vector<int> received = {};  ///< and from each
  int size() const { return static_cast<int>(case_ranks.size()); }
};

/// Whether the handle is one of this case's communicators that has not been left.
bool is_known(const Communicator* comm);

/// What the host waits for before it has its communicator.
std::vector<PendingOperation> pending_joins();

/// Notes what is wrong with a call; returns what it returns.
Result refuse(const std::string& what);

}  // namespace course::gpu::nccl
