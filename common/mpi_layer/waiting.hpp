#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mpi_layer/operation.hpp"
#include "trace/trace.hpp"

namespace course::mpi_layer {

class Recorder;

/// A request that the caller waits for or tests, in the caller's own variable.
struct Waited {
  enum class State {
    Absent,  ///< a null request, or a persistent one that is not started
    Open,
    Complete
  };
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

/// Waits and tests, which complete operations, while the page shows what is pending.
class Waiting {
 public:
  explicit Waiting(Recorder& recorder);

  std::vector<Waited> gather(int count, MPI_Request* requests);
  /// Blocks until all of the requests, or with Need::Any one of them, have completed.
  void wait(CallLabel label, std::vector<Waited>& waited, Need need);
  /// Completes what can be completed now: with Need::All either all or nothing, with Need::Any one. Returns
  /// whether it did (or nothing was open); a row of tests that did not is polling.
  bool test(const char* call, std::vector<Waited>& waited, Need need);
  /// Completes an open request if that needs no waiting.
  bool advance(Waited& waited);
  /// Blocks until arrived() says yes, while the page shows `probe`.
  void wait_for_message(CallLabel label, const Operation& probe, const std::function<bool()>& arrived);
  /// Runs a blocking call of the library while the page shows `operation`; returns its code.
  int run_blocked(CallLabel label, const Operation& operation, const std::function<int()>& call);
  /// Counts one test that found nothing, or ends a row of them.
  void note_test(bool found, const std::function<std::vector<PendingOperation>()>& pending_now);

  /// What is open: first those of `waited`, as waited for by `call`.
  std::vector<PendingOperation> pending(const char* call, const std::vector<Waited>& waited, Need need);
  /// The same with nothing waited for but `operation`.
  std::vector<PendingOperation> pending_with(const Operation& operation);

 private:
  class Scope;
  using PendingNow = std::function<std::vector<PendingOperation>()>;

  bool advance_all(std::vector<Waited>& waited, Need need);
  void settle_open();
  void block(const std::function<bool()>& done, const PendingNow& pending_now);
  void show(Phase phase, const std::vector<PendingOperation>& pending);

  Recorder& recorder_;
  bool more_ranks_than_cores_ = false;
  int fruitless_tests_ = 0;
};

}  // namespace course::mpi_layer
