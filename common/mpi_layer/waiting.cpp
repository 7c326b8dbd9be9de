#include <algorithm>
#include <ctime>
#include <optional>
#include <stdexcept>
#include <utility>

#include "mpi_layer/page.hpp"
#include "mpi_layer/recorder.hpp"

namespace course::mpi_layer {

namespace {

/// So many tests in a row that complete nothing are polling.
constexpr int tests_until_polling = 3;

/// What a rank does between two looks at what it waits for: at first nothing, later it naps, so that ranks
/// which compute get the core. It never yields: on a busy machine every sched_yield() costs a whole time
/// slice.
class Idle {
 public:
  explicit Idle(bool more_ranks_than_cores)
      : patience_(more_ranks_than_cores ? std::chrono::microseconds(50) : std::chrono::microseconds(1000)) {}

  /// Returns whether a millisecond has passed since it last did.
  bool pause() {
    const Clock::time_point now = Clock::now();
    if (now - begin_ > patience_) {
      const timespec nap{0, 20'000};
      nanosleep(&nap, nullptr);
    }
    if (now - last_ < std::chrono::milliseconds(1)) return false;
    last_ = now;
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::duration patience_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

bool satisfied(const std::vector<Waited>& waited, Need need) {
  const auto open = [](const Waited& one) { return one.state == Waited::State::Open; };
  const auto complete = [](const Waited& one) { return one.state == Waited::State::Complete; };
  if (std::none_of(waited.begin(), waited.end(), open)) return true;
  return need == Need::Any && std::any_of(waited.begin(), waited.end(), complete);
}

PendingOperation unknown_operation(const char* call, Need need) {
  Operation unknown;
  unknown.kind = Kind::Receive;
  unknown.call = call;
  unknown.peer = MPI_ANY_SOURCE;
  unknown.tag = MPI_ANY_TAG;
  return unknown.pending(nullptr, need);
}

}  // namespace

/// One blocking call: its span, and the page's phase while it waits.
class Recorder::Scope {
 public:
  Scope(Recorder& recorder, CallLabel label)
      : recorder_(recorder), label_(std::move(label)), begin_s_(recorder.now_s()) {}

  ~Scope() {
    if (!recorder_.on_owner_thread()) return;
    recorder_.fruitless_tests_ = 0;
    recorder_.show(Phase::Computing, {});
    if (!recorder_.records_spans()) return;
    const Guard guard(recorder_.mutex_);
    recorder_.report_.spans.push_back({label_.kind, begin_s_, recorder_.now_s(), std::move(label_.text)});
  }

  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Recorder& recorder_;
  CallLabel label_;
  double begin_s_;
};

void Recorder::show(Phase phase, const std::vector<PendingOperation>& pending) {
  if (!on_owner_thread()) return;
  const Guard guard(mutex_);
  write_pending(*page_, pending, other_threads_, phase);
}

std::vector<PendingOperation> Recorder::pending(const char* call, const std::vector<Waited>& waited,
                                                Need need) {
  const Guard guard(mutex_);
  std::vector<PendingOperation> all;
  std::vector<const Operation*> shown;
  for (const Waited& one : waited) {
    if (one.state != Waited::State::Open) continue;
    shown.push_back(find(*one.request));
    all.push_back(shown.back() == nullptr ? unknown_operation(call, need)
                                          : shown.back()->pending(call, need));
  }
  for (const Operation& other : open_) {
    const bool waited_for = std::find(shown.begin(), shown.end(), &other) != shown.end();
    if (other.active && !other.summed && !waited_for) all.push_back(other.pending(nullptr, Need::None));
  }
  return all;
}

/// Notices messages that have completed without the caller's having asked: the judge must not take them for
/// pending.
void Recorder::settle_open() {
  const Guard guard(mutex_);
  if (other_threads_) return;  // Another thread may be completing the same request.
  for (Operation& operation : open_) {
    if (!operation.active || operation.summed || operation.peer == MPI_PROC_NULL) continue;
    int done = 0;
    MPI_Status status{};
    PMPI_Request_get_status(operation.request, &done, &status);
    if (done != 0) enter_completion([&](RankStatus& own) { sum(own, operation, status); });
  }
}

/// What settle_open() has found complete is completed by done() before the page is shown again.
void Recorder::block(const std::function<bool()>& done,
                     const std::function<std::vector<PendingOperation>()>& pending_now) {
  Idle idle(more_ranks_than_cores_);
  std::optional<std::uint64_t> shown;
  while (!done()) {
    if (shown != changes_) {
      shown = changes_;
      show(Phase::Blocked, pending_now());
    }
    if (idle.pause()) settle_open();
  }
}

void Recorder::wait(CallLabel label, std::vector<Waited>& waited, Need need) {
  const char* call = label.call;
  look_at_wait(call, waited);
  const Scope scope(*this, std::move(label));
  block([&] { return advance_all(waited, need); }, [&] { return pending(call, waited, need); });
}

void Recorder::wait_for_message(CallLabel label, const Operation& probe,
                                const std::function<bool()>& arrived) {
  const Scope scope(*this, std::move(label));
  block(arrived, [&] {
    std::vector<PendingOperation> all = pending(nullptr, {}, Need::None);
    all.insert(all.begin(), probe.pending(nullptr, Need::All));
    return all;
  });
  const Guard guard(mutex_);
  enter_completion([](RankStatus& own) { ++own.completed; });
}

int Recorder::run_blocked(CallLabel label, const Operation& operation, const std::function<int()>& call) {
  const Scope scope(*this, std::move(label));
  std::vector<PendingOperation> all = pending(nullptr, {}, Need::None);
  all.insert(all.begin(), operation.pending(nullptr, Need::All));
  show(Phase::Blocked, all);
  const int code = call();
  const Guard guard(mutex_);
  enter_completion([&](RankStatus& own) {
    ++own.completed;
    if (operation.kind == Kind::Collective) ++own.collectives;
  });
  return code;
}

std::vector<Waited> Recorder::gather(int count, MPI_Request* requests) {
  const Guard guard(mutex_);
  see_call();
  std::vector<Waited> waited;
  for (int i = 0; i < count; ++i) {
    Waited& one = waited.emplace_back();
    one.request = &requests[i];
    const Operation* known = find(requests[i]);
    if (requests[i] != MPI_REQUEST_NULL && (known == nullptr || known->active)) continue;
    one.state = Waited::State::Absent;
    MPI_Request none = MPI_REQUEST_NULL;
    int done = 0;
    PMPI_Test(&none, &done, &one.status);
  }
  return waited;
}

bool Recorder::advance_all(std::vector<Waited>& waited, Need need) {
  for (Waited& one : waited) {
    if (one.state == Waited::State::Open && advance(one) && need == Need::Any) return true;
  }
  return satisfied(waited, need);
}

bool Recorder::advance(Waited& waited) {
  const MPI_Request former = *waited.request;
  MPI_Request request = former;
  int done = 0;
  if (waited.delayed) {
    PMPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);  // the library moves what it can all the same
    return false;
  }
  const int code = PMPI_Test(&request, &done, &waited.status);
  if (code != MPI_SUCCESS) {
    *waited.request = request;
    throw_failure(code, former, waited.status);
  }
  if (done == 0) return false;
  complete(former, waited.status);
  *waited.request = request;
  waited.state = Waited::State::Complete;
  return true;
}

/// Throws what the library says about a failed operation, which is over with that.
void Recorder::throw_failure(int code, MPI_Request request, const MPI_Status& status) {
  Operation failed;
  {
    const Guard guard(mutex_);
    const Operation* known = find(request);
    if (known != nullptr) {
      failed = *known;
      open_.remove_if([&](const Operation& one) { return &one == known; });
    }
  }
  std::string text = failed.communicator ? failed.text() : "an operation of an unknown request";
  int error_class = 0;
  PMPI_Error_class(code, &error_class);
  if (error_class == MPI_ERR_TRUNCATE) {
    int arrived = 0;
    PMPI_Get_count(&status, MPI_BYTE, &arrived);
    text += ": the message that arrived is longer than the buffer";
    if (arrived > failed.bytes) text += ", " + std::to_string(arrived) + " bytes";
  }
  throw_error(code, text);
}

bool Recorder::all_arrived(const std::vector<Waited>& waited) {
  return std::all_of(waited.begin(), waited.end(), [](const Waited& one) {
    int done = 1;
    if (one.state == Waited::State::Open) PMPI_Request_get_status(*one.request, &done, MPI_STATUS_IGNORE);
    return done != 0 && !one.delayed;
  });
}

bool Recorder::test(const char* call, std::vector<Waited>& waited, Need need) {
  look_at_tests(call, waited);
  const bool found = (need == Need::Any || all_arrived(waited)) && advance_all(waited, need);
  note_test(found, [&] { return pending(call, waited, need); });
  return found;
}

void Recorder::note_test(bool found, const std::function<std::vector<PendingOperation>()>& pending_now) {
  if (!on_owner_thread() || computing_) return;  // who tests between tiles does not wait
  if (found) {
    if (std::exchange(fruitless_tests_, 0) >= tests_until_polling) show(Phase::Computing, {});
  } else if (++fruitless_tests_ == tests_until_polling) {
    show(Phase::Polling, pending_now());
  }
}

}  // namespace course::mpi_layer
