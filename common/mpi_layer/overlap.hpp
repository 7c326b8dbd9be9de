#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mpi_layer/journal.hpp"
#include "mpi_layer/waiting.hpp"

namespace course::mpi_layer {

/// The operations that have a request, in the order in which they were started. The mutex is held by whoever
/// looks at them or changes them, and never while the library waits for another rank, so that a second thread
/// may make progress meanwhile.
struct OpenRequests {
  using Guard = std::lock_guard<std::mutex>;
  std::mutex mutex;
  std::list<Operation> operations;

  /// The one that its caller knows by this request; null when none is. The library may give one request to
  /// several, as it does for those with MPI_PROC_NULL: then the first.
  Operation* find(MPI_Request request);
  /// Of one that find() returned.
  void remove(const Operation& operation);
};

/// The order of start, compute and wait: what could have been hidden behind a computation, and was not. The
/// player's blocks mark where the computation is.
class Overlap {
 public:
  Overlap(OpenRequests& open, Journal& journal, bool delay_tests);

  void begin_computing(std::span<const ComputeBuffer> buffers);
  void pause_computing();
  void end_computing();
  bool computing() const { return computing_; }

  /// Whether this thread is the one that began the case.
  bool on_owner_thread() const { return std::this_thread::get_id() == owner_; }
  /// Whether another has called MPI or computed.
  bool other_threads() const { return other_threads_; }

  /// Every MPI call passes here, the requests locked: the library moves what it can.
  void see_call();
  /// Operations are waited for. What was computed since they were started could hide them; what is computed
  /// later, be it the other tiles of the same block, could have.
  void look_at_wait(const char* call, const std::vector<Waited>& waited);
  /// Looks at tests of messages that next to nothing could have hidden yet: marks those that are to find
  /// nothing (Options::delay_tests), and notes a row of them.
  void look_at_tests(const char* call, std::vector<Waited>& waited);
  /// The operation is complete; the requests are locked.
  void look_back(const Operation& operation);
  /// What only the end of the case shows: what was computed after a wait, and that no thread made progress.
  void note_lack();

 private:
  /// What has a thread of its own may compute or make progress in it, where no call shows.
  void look_for_threads();
  void look_at(Operation& operation, const ComputeBuffer& buffer);
  bool is_unhidden(const Operation& operation) const;
  void note_wait(const std::string& text);
  bool could_have_hidden(std::ptrdiff_t computations) const;

  OpenRequests& open_;
  Journal& journal_;
  const bool delay_tests_;
  const std::thread::id owner_ = std::this_thread::get_id();
  const int threads_at_begin_;
  std::atomic<bool> other_threads_ = false;
  bool own_threads_ = false;  ///< the case has, or may have, threads of its own
  std::atomic<bool> computing_ = false;
  std::vector<bool> computations_;  ///< one each: whether a thread of the case's own did it
  std::vector<std::pair<std::ptrdiff_t, std::string>> waited_at_once_;  ///< the computations so far, and what
  std::vector<std::string> unprogressed_;
};

}  // namespace course::mpi_layer
