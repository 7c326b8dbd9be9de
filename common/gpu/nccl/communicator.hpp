#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

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
  int left_on_line = 0;            ///< by ncclCommDestroy
  int size() const { return static_cast<int>(case_ranks.size()); }
};

/// Whether the handle is one of this case's communicators that has not been left.
bool is_known(const Communicator* comm);

/// A handle that is_known() does not know, in words.
std::string what_is(const Communicator* comm);

/// What the host waits for before it has its communicator.
std::vector<PendingOperation> pending_joins();

/// Tells who watches the case of a message that has come to its end here.
void tell_completed(const PendingOperation& message);

/// "ncclSend on line 12"
std::string call_text(const char* call, int line);

/// What is wrong with a call.
struct Refusal {
  std::string what;
  int line = 0;  ///< the call's; 0: `what` names none
  Result result = Result::InvalidArgument;
  bool wrong_id = false;  ///< as mark_wrong_id says
};

/// Notes it; returns what the call returns.
Result refuse(const Refusal& refusal);

/// Between ncclGroupStart and ncclGroupEnd.
bool in_group();
/// Notes a group that has no end.
void look_for_open_group();
/// What was sent and gathered since the last forget_groups().
Traffic traffic();
/// Forgets what an earlier case has left.
void forget_groups();

}  // namespace course::gpu::nccl
