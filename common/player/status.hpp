#pragma once

#include <atomic>
#include <cstdint>

namespace course {

/// What a rank is doing, as the judge may read it at any moment from a file that both have mapped. A player
/// written in another language need not keep one; its standstills are then found by the clock alone.
enum class Phase : std::uint32_t {
  Starting,    ///< before the submission is loaded
  Computing,   ///< inside the submission, outside MPI
  Blocked,     ///< inside a blocking MPI call; `pending` says what it waits for
  Polling,     ///< between MPI_Test calls that did not complete; `pending` as for Blocked
  Finished,    ///< done with the case, waiting for the others
  Threw,       ///< the function threw; `text` says what
  Crashed,     ///< a signal came; `signal` says which
  Done,        ///< all cases played
};

/// One operation that a rank has started and not completed.
struct PendingOperation {
  enum class Kind : std::uint32_t { Send, Receive, Collective } kind;
  std::int32_t peer;        ///< rank in the case's communicator; any_peer for MPI_ANY_SOURCE
  std::int32_t tag;         ///< any_tag for MPI_ANY_TAG
  std::int64_t bytes;       ///< of the caller's buffer
  std::uint64_t communicator;  ///< equal on two ranks when they mean the same communicator's context
  char call[24];            ///< "MPI_Recv"; "MPI_Wait (MPI_Irecv)" for a request that is waited for
};

inline constexpr std::int32_t any_peer = -1;
inline constexpr std::int32_t any_tag = -1;
inline constexpr int max_pending = 8;

/// One rank's page. `sequence` is odd while the rank writes the fields below it (a seqlock).
struct RankStatus {
  std::atomic<std::uint32_t> phase;
  std::atomic<std::int32_t> case_index;   ///< position in the plan; -1 before the first
  std::atomic<std::uint64_t> completed;   ///< MPI operations completed since the start
  std::atomic<std::uint64_t> sequence;
  std::int32_t pid;
  std::int32_t hop;                       ///< receives completed in this case
  std::int32_t signal;
  std::int32_t pending_count;             ///< may exceed max_pending; only the first max_pending are kept
  PendingOperation pending[max_pending];
  char text[512];
};

}  // namespace course
