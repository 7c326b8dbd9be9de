#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "protocol/fact.hpp"

namespace course {

/// What a rank is doing, as the judge may read it at any moment from a file that the rank has mapped. A
/// player written in another language need not keep one; its deadlocks are then found by the clock alone.
enum class Phase : std::uint32_t {
  Starting,   ///< before the function of the case is called
  Computing,  ///< inside the submission, outside MPI
  Blocked,    ///< inside a blocking MPI call; `pending` says what it waits for
  Polling,    ///< between MPI_Test calls that did not complete; `pending` as for Blocked
  Finished,   ///< done with the case, waiting for the others
  Threw,      ///< the function threw; `text` says what
  Crashed,    ///< a signal came; `signal` says which
  Done,       ///< all cases played
};

/// One operation that a rank has started and that has not completed, as far as the rank has seen.
struct PendingOperation {
  enum class Kind : std::uint32_t { Send, Receive, Collective } kind;
  /// Whether the rank waits for it: not now (it was started earlier and may still be met by another rank),
  /// for each one that says All, or for one of those that say Any.
  enum class Need : std::uint32_t { None, All, Any } need;
  std::int32_t peer;   ///< rank in the case's communicator; any_peer for MPI_ANY_SOURCE; a collective's root,
                       ///< or any_peer
  std::int32_t tag;    ///< any_tag for MPI_ANY_TAG; no_tag for what has none, as NCCL's messages; for a
                       ///< collective its number on the communicator, from 1
  std::int64_t bytes;  ///< of the caller's buffer
  std::uint64_t communicator;  ///< equal on two ranks when they mean the same communicator's context
  char call[32];               ///< "MPI_Recv"; "MPI_Wait(MPI_Irecv)" for a request that is waited for
};

inline constexpr std::int32_t any_peer = -1;
inline constexpr std::int32_t any_tag = -1;
inline constexpr std::int32_t no_tag = -2;
inline constexpr std::int32_t outside_peer = -2;  ///< a rank that is not in the case's communicator
/// The communicator of an operation that the MPI layer knows nothing about: it may match anything.
inline constexpr std::uint64_t unknown_communicator = 0;
inline constexpr std::uint64_t case_communicator = 1;  ///< the one that the function was given
inline constexpr int max_pending = 32;
inline constexpr int max_summed_ranks = 64;

/// A communicator that the function was given or made, as one of its members knows it.
struct KnownCommunicator {
  std::uint64_t communicator;  ///< as in PendingOperation
  std::int32_t started;        ///< how many collectives this rank has started on it in this case
  std::int32_t size;           ///< may exceed max_summed_ranks; only the first max_summed_ranks are told
  /// A bit for each case rank without whose part the last of those cannot end on this rank.
  std::uint64_t awaited;
  std::int8_t members[max_summed_ranks];  ///< case ranks in the communicator's order, or outside_peer
};
inline constexpr int max_communicators = 16;

/// One rank's page. `sequence` is odd while the rank writes the fields below it (a seqlock).
struct RankStatus {
  std::atomic<std::uint32_t> phase;
  std::atomic<std::int32_t> case_index;  ///< position in the plan; -1 before the first
  std::atomic<std::uint64_t> completed;  ///< MPI operations completed since the start
  std::atomic<std::uint64_t> sequence;
  std::int32_t pid;
  std::int32_t receives;  ///< completed in this case
  std::int32_t signal;
  std::int32_t pending_count;  ///< may exceed max_pending; only the first max_pending are kept
  PendingOperation pending[max_pending];
  std::uint64_t collectives;  ///< collective operations completed in this case
  /// For each peer the sum, modulo 2^64, of a hash of (communicator, tag) over the messages of this case
  /// whose sending (or receiving) this rank has seen complete. While the sender's sum differs from the
  /// receiver's, one of them is about to see a completion that the other has seen. Peers from
  /// max_summed_ranks on are not summed.
  std::uint64_t sent_sum[max_summed_ranks];
  std::uint64_t received_sum[max_summed_ranks];
  char text[512];
  /// What the MPI layer has noted so far, a line each (line_of_page() in protocol/fact.hpp): the report that
  /// says it too is written only by a rank that comes to its end.
  char facts[2048];
  /// While the rank waits and when it is done: how many communicators it has known in this case, of which
  /// only max_communicators are told, first those of pending operations. 0 when they are not told.
  std::int64_t communicator_count;
  KnownCommunicator communicators[max_communicators];
};

// The layout is told in docs/case-format.md, to players that are not C++.
static_assert(sizeof(PendingOperation) == 64 && sizeof(RankStatus) == 7096);
static_assert(offsetof(RankStatus, pending) == 40 && offsetof(RankStatus, collectives) == 2088);
static_assert(offsetof(RankStatus, text) == 3120 && offsetof(RankStatus, facts) == 3632);
static_assert(sizeof(KnownCommunicator) == 88 && offsetof(KnownCommunicator, members) == 24);
static_assert(offsetof(RankStatus, communicator_count) == 5680 &&
              offsetof(RankStatus, communicators) == 5688);

/// Adds a fact to those of the page, where it has room.
void append_fact(RankStatus& page, const Fact& fact);

/// Lies beside the status file until the first rank is about to load the submission. Once it is removed no
/// code can bring that same file back, so a judge that has it open knows whether submitted code ever ran.
inline std::filesystem::path seal_beside(std::filesystem::path status) {
  return status += ".sealed";
}

/// What a player with sanitizers prints on stderr, as they do: a file of each process's beside the status
/// file.
inline std::filesystem::path stderr_beside(std::filesystem::path status, std::int32_t pid) {
  return status += "." + std::to_string(pid);
}

/// How far a rank has come, in words. Not as a ring step: K and V may travel in one message or in two.
inline std::string after_receives(int receives) {
  if (receives == 0) return "before any receive";
  return "after " + std::to_string(receives) + (receives == 1 ? " receive" : " receives");
}

}  // namespace course
