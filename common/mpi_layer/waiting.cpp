#include <algorithm>
#include <ctime>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "mpi_layer/recorder.hpp"
#include "protocol/timing.hpp"

namespace course::mpi_layer {

namespace {

/// So many tests in a row that complete nothing are polling.
constexpr int tests_until_polling = 3;
/// So long a test waits for what is due (Waited::due), once for each operation.
constexpr std::chrono::milliseconds time_for_what_is_due{200};

/// What a rank does between two looks at what it waits for: at first nothing, later it naps, so that ranks
/// which compute get the core. It never yields: on a busy machine every sched_yield() costs a whole time
/// slice.
class Idle {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Idle(bool more_ranks_than_cores)
      : patience_(more_ranks_than_cores ? std::chrono::microseconds(50) : std::chrono::microseconds(1000)) {}

  /// Does it, and looks round each millisecond, but for no more than a tenth of the time.
  template <class LookRound>
  void pause(const LookRound& look_round) {
    const Clock::time_point now = Clock::now();
    if (now - begin_ > patience_) {
      const timespec nap{0, 20'000};
      nanosleep(&nap, nullptr);
    }
    if (now < next_look_) return;
    look_round();
    const Clock::time_point after = Clock::now();
    next_look_ = after + std::max<Clock::duration>(interval, 10 * (after - now));
  }

 private:
  static constexpr std::chrono::milliseconds interval{1};
  Clock::duration patience_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_look_ = begin_ + interval;
};

bool satisfied(const std::vector<Waited>& waited, Need need) {
  const auto some_are = [&](Waited::State state) {
    return std::ranges::count(waited, state, &Waited::state) > 0;
  };
  return !some_are(Waited::State::Open) || (need == Need::Any && some_are(Waited::State::Complete));
}

bool all_arrived(const std::vector<Waited>& waited) {
  return std::ranges::all_of(waited, [](const Waited& one) {
    int done = 1;
    if (one.state == Waited::State::Open) PMPI_Request_get_status(*one.request, &done, MPI_STATUS_IGNORE);
    return done != 0 && !one.delayed;
  });
}

}  // namespace

/// One blocking call: its span, the page's phase while it waits, and the progress that it makes.
class Waiting::Scope {
 public:
  Scope(Waiting& waiting, CallLabel label, bool makes_progress)
      : waiting_(waiting), label_(std::move(label)), begin_s_(now_s()), makes_progress_(makes_progress) {
    waiting_.recorder_.overlap.begin_waiting(makes_progress_);
  }

  ~Scope() {
    Recorder& recorder = waiting_.recorder_;
    recorder.overlap.end_waiting(makes_progress_);
    if (!recorder.overlap.on_owner_thread()) return;
    waiting_.fruitless_tests_ = 0;
    waiting_.show(Phase::Computing, {});
    if (!recorder.options.record_spans) return;
    recorder.journal.add_span({label_.kind, begin_s_, now_s(), std::move(label_.text)});
  }

  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Waiting& waiting_;
  CallLabel label_;
  double begin_s_;
  bool makes_progress_;
};

Waiting::Waiting(Recorder& recorder) : recorder_(recorder) {
  int world_size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
  more_ranks_than_cores_ = world_size > static_cast<int>(std::thread::hardware_concurrency());
}

void Waiting::show(Phase phase, const std::vector<PendingOperation>& pending) {
  if (!recorder_.overlap.on_owner_thread()) return;
  const bool waits = phase == Phase::Blocked || phase == Phase::Polling;
  recorder_.journal.show(phase, pending,
                         waits ? recorder_.communicators_beside(pending) : ShownCommunicators{},
                         recorder_.overlap.other_threads());
}

std::vector<PendingOperation> Waiting::pending(const char* call, const std::vector<Waited>& waited,
                                               Need need) {
  const OpenRequests::Guard guard(recorder_.open.mutex);
  std::vector<PendingOperation> all;
  std::vector<const Operation*> shown;
  for (const Waited& one : waited) {
    if (one.state != Waited::State::Open) continue;
    if (std::ssize(all) > max_pending) return all;
    const Operation* known = shown.emplace_back(recorder_.open.find(*one.request));
    all.push_back(known == nullptr ? unknown_operation(call).pending(nullptr, need)
                                   : known->pending(call, need));
  }
  for (const Operation& other : recorder_.open.operations) {
    if (std::ssize(all) > max_pending) return all;
    const bool waited_for = std::ranges::count(shown, &other) > 0;
    if (other.active && !other.summed && !waited_for) all.push_back(other.pending(nullptr, Need::None));
  }
  if (recorder_.beside.pending) std::ranges::copy(recorder_.beside.pending(), std::back_inserter(all));
  return all;
}

std::vector<PendingOperation> Waiting::pending_with(const Operation& operation) {
  std::vector<PendingOperation> all = pending(nullptr, {}, Need::None);
  all.insert(all.begin(), operation.pending(nullptr, Need::All));
  return all;
}

/// Notices messages that have completed without the caller's having asked: the judge must not take them for
/// pending.
void Waiting::settle_open() {
  const OpenRequests::Guard guard(recorder_.open.mutex);
  if (recorder_.overlap.other_threads()) return;  // Another thread may be completing the same request.
  for (Operation& operation : recorder_.open.operations) {
    if (!operation.active || operation.summed || operation.peer == MPI_PROC_NULL) continue;
    int done = 0;
    MPI_Status status{};
    PMPI_Request_get_status(operation.request, &done, &status);
    if (done != 0) recorder_.enter_arrival(operation, status);
  }
}

/// What settle_open() has found complete is completed by done() before the page is shown again.
void Waiting::block(const std::function<bool()>& done, const std::function<void()>& look_round,
                    const PendingNow& pending_now) {
  Idle idle(more_ranks_than_cores_);
  std::optional<std::uint64_t> shown;
  for (advance_beside(); !done(); advance_beside()) {
    if (shown != recorder_.journal.completions()) {
      shown = recorder_.journal.completions();
      show(Phase::Blocked, pending_now());
    }
    idle.pause([&] {
      look_round();
      settle_open();
    });
  }
}

void Waiting::wait(CallLabel label, std::vector<Waited>& waited, Need need) {
  const char* call = label.call;
  const bool moves = recorder_.overlap.look_at_wait(call, waited);
  const Scope scope(*this, std::move(label), moves);
  const bool is_held = std::ranges::count(waited, true, &Waited::held) > 0;
  std::size_t first = 0;
  const auto done = [&] {
    if (is_held) recorder_.overlap.hold_wait(call, waited);
    return need == Need::Any ? advance_all(waited, need) : advance_from(first, waited);
  };
  const auto look_round = [&] {
    if (need == Need::All) advance_open(waited, Need::All);
  };
  block(done, look_round, [&] { return pending(call, waited, need); });
}

void Waiting::wait_for_message(CallLabel label, const Operation& probe,
                               const std::function<bool()>& arrived) {
  const Scope scope(*this, std::move(label), probe.may_be_looked_for());
  block(
      arrived, [] {}, [&] { return pending_with(probe); });
  recorder_.journal.enter_completion([](RankStatus& own) { ++own.completed; });
}

void Waiting::wait_for(CallLabel label, const std::function<bool()>& done) {
  const Scope scope(*this, std::move(label), false);
  block(
      done, [] {}, [&] { return pending(nullptr, {}, Need::None); });
}

void Waiting::advance_beside() const {
  if (recorder_.beside.progress) recorder_.beside.progress();
}

void Waiting::come_together(MPI_Comm comm, const Operation& operation) {
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Ibarrier(comm, &request);
  const auto all_are_here = [&] {
    int done = 0;
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  };
  block(
      all_are_here, [] {}, [&] { return pending_with(operation); });
}

int Waiting::run_blocked(CallLabel label, const Operation& operation, const std::function<int()>& call,
                         MPI_Comm collective) {
  const Scope scope(*this, std::move(label), operation.may_be_looked_for());
  if (recorder_.beside.progress && collective != MPI_COMM_NULL) come_together(collective, operation);
  show(Phase::Blocked, pending_with(operation));
  const int code = call();
  recorder_.journal.enter_completion([&](RankStatus& own) {
    ++own.completed;
    if (operation.kind == Kind::Collective) ++own.collectives;
  });
  return code;
}

std::vector<Waited> Waiting::gather(const char* call, int count, MPI_Request* requests) {
  const OpenRequests::Guard guard(recorder_.open.mutex);
  recorder_.overlap.see_call(call);
  std::vector<Waited> waited;
  for (int i = 0; i < count; ++i) {
    Waited& one = waited.emplace_back();
    one.request = &requests[i];
    one.call = call;
    recorder_.refuse_ended(call, requests[i]);
    const Operation* known = recorder_.open.find(requests[i]);
    if (requests[i] != MPI_REQUEST_NULL && (known == nullptr || known->active)) continue;
    one.state = Waited::State::Absent;
    MPI_Request none = MPI_REQUEST_NULL;
    int done = 0;
    PMPI_Test(&none, &done, &one.status);
  }
  return waited;
}

bool Waiting::advance_all(std::vector<Waited>& waited, Need need) {
  advance_open(waited, need);
  return satisfied(waited, need);
}

/// In their order, up to one that is not complete: looking at all of them each time would take longer than
/// the messages. Those before `first` are complete.
bool Waiting::advance_from(std::size_t& first, std::vector<Waited>& waited) {
  while (first < waited.size() && (waited[first].state != Waited::State::Open || advance(waited[first])))
    ++first;
  return first == waited.size();
}

void Waiting::advance_open(std::vector<Waited>& waited, Need need) {
  const auto delayed = std::ranges::find(waited, true, &Waited::delayed);
  if (delayed != waited.end()) advance(*delayed);
  std::vector<Waited*> open;
  std::vector<MPI_Request> requests;
  for (Waited& one : waited) {
    if (one.state != Waited::State::Open || one.delayed) continue;
    open.push_back(&one);
    requests.push_back(*one.request);
  }
  if (open.empty()) return;
  const int count = static_cast<int>(open.size());
  std::vector<int> places(open.size(), MPI_UNDEFINED);
  std::vector<MPI_Status> statuses(open.size());
  int found = 0;
  const int code = need == Need::Any
                       ? PMPI_Testany(count, requests.data(), places.data(), &found, statuses.data())
                       : PMPI_Testsome(count, requests.data(), &found, places.data(), statuses.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
    const bool known = need == Need::Any && places[0] >= 0 && places[0] < count;
    recorder_.throw_failure(code, known ? requests[places[0]] : MPI_REQUEST_NULL, statuses[0]);
  }
  if (found == MPI_UNDEFINED || (found > 0 && places[0] == MPI_UNDEFINED)) {  // none is active
    for (Waited* one : open) advance(*one);
    return;
  }
  std::optional<int> failed;
  for (int i = 0; i < found; ++i) {
    if (code == MPI_ERR_IN_STATUS && statuses[i].MPI_ERROR != MPI_SUCCESS) {
      failed = failed.value_or(i);
    } else {
      finish(*open[places[i]], requests[places[i]], statuses[i]);
    }
  }
  if (failed)
    recorder_.throw_failure(statuses[*failed].MPI_ERROR, *open[places[*failed]]->request, statuses[*failed]);
}

bool Waiting::advance(Waited& waited) {
  MPI_Request request = *waited.request;
  int done = 0;
  MPI_Status status{};
  if (waited.delayed) {
    PMPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);  // the library moves what it can all the same
    return false;
  }
  const int code = PMPI_Test(&request, &done, &status);
  if (code != MPI_SUCCESS) recorder_.throw_failure(code, *waited.request, status);
  if (done != 0) finish(waited, request, status);
  return done != 0;
}

void Waiting::finish(Waited& waited, MPI_Request left, const MPI_Status& status) {
  recorder_.complete(*waited.request, status, waited.call);
  *waited.request = left;
  waited.status = status;
  waited.state = Waited::State::Complete;
}

/// Where a rank is late, the test goes on without its message: it may be waiting for this rank.
void Waiting::await_due(const std::vector<Waited>& waited) const {
  if (std::ranges::count(waited, true, &Waited::due) == 0) return;
  recorder_.overlap.begin_waiting(false);
  const auto deadline = std::chrono::steady_clock::now() + time_for_what_is_due;
  for (Idle idle(more_ranks_than_cores_);
       !all_arrived(waited) && std::chrono::steady_clock::now() < deadline;)
    idle.pause([] {});
  recorder_.overlap.end_waiting(false);
}

bool Waiting::test(const char* call, std::vector<Waited>& waited, Need need) {
  recorder_.overlap.look_at_tests(call, waited);
  advance_beside();
  await_due(waited);
  const bool found = (need == Need::Any || all_arrived(waited)) && advance_all(waited, need);
  note_test(found, [&] { return pending(call, waited, need); });
  return found;
}

void Waiting::note_test(bool found, const std::function<std::vector<PendingOperation>()>& pending_now) {
  if (!recorder_.overlap.on_owner_thread() || recorder_.overlap.computing())
    return;  // who tests between tiles does not wait
  if (found) {
    if (std::exchange(fruitless_tests_, 0) >= tests_until_polling) show(Phase::Computing, {});
  } else if (++fruitless_tests_ == tests_until_polling) {
    show(Phase::Polling, pending_now());
  }
}

}  // namespace course::mpi_layer
