#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "protocol/compute_observer.hpp"
#include "protocol/fact.hpp"
#include "protocol/fact_kinds.hpp"
#include "protocol/status_page.hpp"
#include "protocol/traffic.hpp"
#include "trace/trace.hpp"

/// Definitions of MPI_Send, MPI_Recv, ... that stand before the library's own (the profiling interface, MPI
/// standard chapter 15): link these objects into an executable with -rdynamic (all of them: an archive would
/// leave out those that the executable itself does not call) and every MPI call of the executable and of the
/// shared objects it loads passes through. Outside begin() .. end() calls go straight to the library.
///
/// Inside, an MPI error and a call that could not work are C++ exceptions thrown from the call:
///   std::invalid_argument  a peer that is no rank, a null communicator, freeing the case's communicator, a
///                          receive's buffer that is longer than the memory that it begins in
///   std::runtime_error     whatever else MPI refuses, such as a message longer than its buffer; MPI_Abort
namespace course::mpi_layer {

struct Options {
  /// Every send completes only when its receive has started, so that buffering never hides a deadlock.
  bool synchronous_sends = false;
  /// Keep a Span for each call, for the trace.
  bool record_spans = false;
  /// Nonblocking and persistent messages of up to 64 KiB are guarded: see BufferGuard. (Where memory is
  /// measured, larger ones are what counts.)
  bool guard_buffers = false;
  /// The first tests of a message after its start, and again after each tile of the first block that is
  /// computed meanwhile, find it open, however fast it was. A program that goes on testing is seen to wait,
  /// and one that reads before its wait never finds what it reads. On a thread of the case's own a message is
  /// complete no sooner than the block is that was computed meanwhile, or where none was, than all other
  /// threads have had the chance to begin one; and a block begins and ends when those threads have had the
  /// chance to begin and to end what they do beside it.
  bool delay_tests = false;
  /// The memory of the tensor that has this address, among those that the function is given; empty where none
  /// has. A message, or what a collective reads or fills, must not leave the tensor that it begins in.
  std::function<std::span<const std::byte>(const void* address)> tensor_at = {};
  /// The same of blocks that the function allocates.
  std::function<std::span<const std::byte>(const void* address)> block_at = {};
};

struct Report {
  Traffic traffic;                    ///< what this rank sent, but for what no rank of the case receives
  std::vector<RankStep> steps;        ///< the first steps_told of them
  std::int64_t collective_bytes = 0;  ///< this rank's receive buffers of collectives
  Facts facts;                        ///< each once, the first few of each kind
  std::vector<Span> spans;            ///< on this host's monotonic clock; empty unless record_spans
};

/// Starts watching a case that is played on `comm`; `status` (may be null) is kept up to date for the judge.
/// The thread that calls this is the one whose waiting the status shows.
void begin(MPI_Comm comm, Options options, RankStatus* status);

/// Is told when the function that is watched computes on parts of its memory: the player's blocks tell. In
/// between, MPI calls are progress; messages that are open are being hidden.
ComputeObserver& compute_observer();

/// What passes between ranks beside MPI's calls, as NCCL's messages do.
struct Beside {
  /// Moves it as far as it goes without waiting; is called whenever a call of MPI's waits.
  std::function<void()> progress;
  /// What of it is under way, and what of that the rank waits for.
  std::function<std::vector<PendingOperation>()> pending;
};
/// Of the case that was begun, until its end.
void watch_beside(Beside beside);
/// Waits until done(); the page shows meanwhile that the rank is blocked by what is pending beside MPI's
/// calls.
void wait_for(const char* call, const std::function<bool()>& done);
/// A message that passed beside MPI's calls has come to its end on this rank. One without bytes is not
/// counted as received.
void note_completion(const PendingOperation& message);
/// Adds what another instrument has found to the facts, and to the page.
void note(const Fact& fact);

/// Stops watching and tells what was seen. Receives still open are cancelled, sends are completed where that
/// needs no waiting and else left to the library; both are told as unfinished_request. Never waits for
/// another rank.
Report end();

}  // namespace course::mpi_layer
