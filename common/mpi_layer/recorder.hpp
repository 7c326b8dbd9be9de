#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mpi_layer/mpi_layer.hpp"
#include "mpi_layer/operation.hpp"

namespace course::mpi_layer {

using Kind = PendingOperation::Kind;
using Need = PendingOperation::Need;

/// A request that the caller waits for or tests, in the caller's own variable.
struct Waited {
  enum class State {
    Absent,
    Open,
    Complete
  };  ///< Absent: a null request, or a persistent one that is not started
  MPI_Request* request;
  State state = State::Open;
  MPI_Status status{};
  bool delayed = false;  ///< a test of it finds nothing this time
};

/// A call's name, and what the trace shows of it.
struct CallLabel {
  const char* call;
  Span::Kind kind = Span::Kind::Wait;
  std::string text = call;
};

/// How many threads this process has; -1 when that cannot be read.
int threads_of_process();

/// What is known of one rank's case between begin() and end(). The mutex guards the bookkeeping and is never
/// held while the library waits for another rank, so that a second thread may make progress meanwhile.
class Recorder {
 public:
  using SendStarter = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  using RequestStarter = std::function<int(MPI_Request*)>;

  Recorder(MPI_Comm comm, Options options, RankStatus* page);
  Report finish();

  bool synchronous_sends() const { return options_.synchronous_sends; }
  bool records_spans() const { return options_.record_spans; }

  /// Adds a fact.
  void note(const char* kind, const std::string& text);
  void note_uncommon(const char* call);
  /// What is known of comm; every wrapper that is given a communicator passes here.
  std::shared_ptr<Communicator> enter(const char* call, MPI_Comm comm);
  void check_may_free(const char* call, MPI_Comm comm);
  void forget(MPI_Comm comm);

  /// A send or a receive about to be started, its peer checked.
  Operation prepare(Kind kind, const Message& message);
  /// What the library is given for the caller's buffer: that, or what stands between.
  void* guarded(Operation& operation, void* buffer);
  /// Starts the operation and keeps it until it completes; returns its request.
  MPI_Request start(Operation operation, const RequestStarter& starter);
  /// Keeps a persistent operation, not started.
  void keep_persistent(Operation operation, MPI_Request request);
  /// Says that a persistent request is about to be started.
  void activate(const char* call, MPI_Request request);
  /// Takes a request from a caller who frees it.
  void release(MPI_Request* request);

  std::vector<Waited> gather(int count, MPI_Request* requests);
  /// Blocks until all of the requests, or with Need::Any one of them, have completed.
  void wait(CallLabel label, std::vector<Waited>& waited, Need need);
  /// Completes what can be completed now: with Need::All either all or nothing, with Need::Any one. Returns
  /// whether it did (or nothing was open); a row of tests that did not is polling.
  bool test(const char* call, std::vector<Waited>& waited, Need need);
  bool all_arrived(const std::vector<Waited>& waited);
  /// Completes an open request if that needs no waiting.
  bool advance(Waited& waited);
  /// Looks at tests of messages that next to nothing could have hidden yet: marks those that are to find
  /// nothing (Options::delay_tests), and notes a row of them.
  void look_at_tests(const char* call, std::vector<Waited>& waited);
  /// The caller has been told that the operation is complete, and keeps its request.
  void hand_over(MPI_Request request);
  /// Blocks until arrived() says yes, while the page shows `probe`.
  void wait_for_message(CallLabel label, const Operation& probe, const std::function<bool()>& arrived);
  /// Counts one test that found nothing, or ends a row of them.
  void note_test(bool found, const std::function<std::vector<PendingOperation>()>& pending_now);
  /// What is open: first those of `waited`, as waited for by `call`.
  std::vector<PendingOperation> pending(const char* call, const std::vector<Waited>& waited, Need need);

  void begin_computing(std::span<const ComputeBuffer> buffers);
  void pause_computing();
  void end_computing();

  void count_collective_bytes(const char* call, std::int64_t bytes);
  Operation prepare_collective(const char* call, const std::shared_ptr<Communicator>& communicator,
                               std::int64_t bytes, int root);
  /// Runs a blocking call of the library while the page shows `operation`; returns its code.
  int run_blocked(CallLabel label, const Operation& operation, const std::function<int()>& call);

 private:
  class Scope;
  using Guard = std::lock_guard<std::mutex>;

  bool on_owner_thread() const { return std::this_thread::get_id() == owner_; }
  std::string so_far();
  Operation* find(MPI_Request request);
  void check_peer(const Operation& operation);
  void check_overlap(Operation& operation);
  void look_for_threads();
  void look_at(Operation& operation, const ComputeBuffer& buffer, std::vector<Fact>& facts);
  void look_at_wait(const char* call, const std::vector<Waited>& waited);
  void note_wait(const std::string& text);
  bool is_unhidden(const Operation& operation) const;
  void look_back(const Operation& operation);
  void see_call();
  bool could_have_hidden(std::ptrdiff_t computations) const;
  void note_lack_of_overlap();
  void count_sent(const Operation& operation);
  bool advance_all(std::vector<Waited>& waited, Need need);
  [[noreturn]] void throw_failure(int code, MPI_Request request, const MPI_Status& status);
  void complete(MPI_Request request, const MPI_Status& status);
  static std::optional<Fact> disarm(const Operation& operation);
  std::optional<Fact> hand_over(Operation& operation);
  std::optional<Fact> settle(MPI_Request request, const MPI_Status& status);
  void enter_completion(const std::function<void(RankStatus&)>& change);
  static void sum(RankStatus& own, Operation& operation, const MPI_Status& status);
  void settle_open();
  void block(const std::function<bool()>& done,
             const std::function<std::vector<PendingOperation>()>& pending_now);
  void show(Phase phase, const std::vector<PendingOperation>& pending);
  void close(Operation& operation);
  double now_s() const;

  const Options options_;
  Communicators communicators_;
  const std::thread::id owner_ = std::this_thread::get_id();
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool more_ranks_than_cores_ = false;

  std::mutex mutex_;
  RankStatus unwatched_{};
  RankStatus* page_;
  std::list<Operation> open_;
  std::atomic<std::uint64_t> changes_ = 0;  ///< grows whenever what the page shows as pending changes
  int fruitless_tests_ = 0;
  bool other_threads_ = false;
  std::atomic<bool> computing_ = false;
  std::vector<bool> computations_;  ///< one each: whether a thread of the case's own did it
  const int threads_at_begin_ = threads_of_process();
  bool own_threads_ = false;  ///< the case has, or may have, threads of its own
  std::vector<std::pair<std::ptrdiff_t, std::string>> waited_at_once_;  ///< the computations so far, and what
  std::vector<std::string> unprogressed_;
  Report report_;
};

/// The recorder between begin() and end(), else null.
Recorder* watching();

}  // namespace course::mpi_layer
