#include "mpi_layer/recorder.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "mpi_layer/buffer_guard.hpp"
#include "mpi_layer/page.hpp"

namespace course::mpi_layer {

namespace {

constexpr std::size_t facts_of_a_kind = 8;
constexpr std::int64_t largest_guarded = 64 * 1024;
/// A receive that can no longer be cancelled is given this long to end before its buffer is abandoned.
constexpr std::chrono::seconds time_for_a_message{1};
std::unique_ptr<Recorder> current;
/// Operations that outlived their case. The library may use what they own until the process ends.
std::list<Operation> left_to_library;

}  // namespace

Recorder* watching() {
  return current.get();
}

void begin(MPI_Comm comm, Options options, RankStatus* status) {
  if (current) throw std::logic_error("mpi_layer::begin: the last case was not ended");
  current = std::make_unique<Recorder>(comm, options, status);
}

Report end() {
  if (!current) throw std::logic_error("mpi_layer::end: no case was begun");
  const std::unique_ptr<Recorder> recorder = std::move(current);
  return recorder->finish();
}

Recorder::Recorder(MPI_Comm comm, Options options, RankStatus* page)
    : options_(options),
      communicators_(comm),

      page_(page != nullptr ? page : &unwatched_) {
  int world_size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
  more_ranks_than_cores_ = world_size > static_cast<int>(std::thread::hardware_concurrency());
  write_page(*page_, [](RankStatus& own) {
    own.receives = 0;
    own.pending_count = 0;
    own.collectives = 0;
    std::memset(own.sent_sum, 0, sizeof own.sent_sum);
    std::memset(own.received_sum, 0, sizeof own.received_sum);
    std::memset(own.facts, 0, sizeof own.facts);
  });
}

double Recorder::now_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void Recorder::note(const char* kind, const std::string& text) {
  const Guard guard(mutex_);
  std::size_t same_kind = 0;
  for (const Fact& fact : report_.facts) {
    if (fact.kind != kind) continue;
    if (fact.text == text) return;
    ++same_kind;
  }
  if (same_kind == facts_of_a_kind) return;
  report_.facts.push_back({kind, text});
  write_page(*page_, [&](RankStatus& own) { append_fact(own, report_.facts.back()); });
}

void Recorder::note_uncommon(const char* call) {
  note(fact_uncommon_call, std::string(call) + ", which this course does not use");
}

std::shared_ptr<Communicator> Recorder::enter(const char* call, MPI_Comm comm) {
  std::shared_ptr<Communicator> communicator;
  {
    const Guard guard(mutex_);
    see_call();
    communicator = communicators_.find(call, comm);
  }
  if (communicator->is_foreign_world) {
    note(fact_world, std::string(call) +
                         " was called with MPI_COMM_WORLD, not with the communicator that the " +
                         "function was given");
  }
  return communicator;
}

void Recorder::check_may_free(const char* call, MPI_Comm comm) {
  const Guard guard(mutex_);
  if (!communicators_.belongs_to_caller(comm)) return;
  throw std::invalid_argument(
      std::string(call) +
      " was called for a communicator that the function did not make: its caller needs it");
}

void Recorder::forget(MPI_Comm comm) {
  const Guard guard(mutex_);
  communicators_.forget(comm);
}

Operation Recorder::prepare(Kind kind, const Message& message) {
  Operation operation = describe(kind, message, enter(message.call, message.comm));
  check_peer(operation);
  return operation;
}

std::string Recorder::so_far() {
  const Guard guard(mutex_);
  return " (" + after_receives(page_->receives) + ")";
}

void Recorder::check_peer(const Operation& operation) {
  const int peer = operation.peer;
  const bool receive = operation.kind == Kind::Receive;
  const std::string call = operation.call;
  if (peer == MPI_PROC_NULL) return;
  if (receive && peer == MPI_ANY_SOURCE) {
    note(fact_any_source,
         call + " from source " + std::to_string(peer) + ", which is MPI_ANY_SOURCE here" + so_far());
    return;
  }
  const int size = operation.communicator->size;
  if (peer < 0 || peer >= size) {
    std::string text = call + (receive ? " from rank " : " to rank ") + std::to_string(peer) +
                       ", but the ranks of this communicator are 0 to " + std::to_string(size - 1);
    if (peer < 0) text += "; in C++ the remainder of a negative number is negative: -1 % P is -1";
    note(fact_invalid_peer, text + so_far());
    throw std::invalid_argument(text);
  }
  if (peer == operation.communicator->rank) {
    note(fact_self_message,
         call + direction(operation.kind, peer) + ", which is this rank itself" + so_far());
  }
}

void Recorder::check_overlap(Operation& operation) {
  if (operation.extent.begin == nullptr) return;
  std::string text;
  bool reused_before_wait = false;
  {
    const Guard guard(mutex_);
    for (Operation& other : open_) {
      const bool writes = operation.kind == Kind::Receive || other.kind == Kind::Receive;
      if (!other.active || other.handed_over || !writes || !operation.extent.overlaps(other.extent)) continue;
      operation.misused = other.misused = true;
      reused_before_wait |= other.computations > 0;
      text = "the buffer of " + operation.text() + " overlaps that of " + other.text() + ", which is still " +
             (other.kind == Kind::Send ? "being sent" : "being received");
    }
  }
  if (reused_before_wait) note(fact_reused_before_wait, text + so_far());
  if (!text.empty()) note(fact_overlapping_buffers, text + so_far());
}

void Recorder::count_sent(const Operation& operation) {
  const int peer = operation.case_peer();
  if (operation.kind == Kind::Send && peer >= 0) report_.bytes_sent_to[peer] += operation.bytes;
}

void* Recorder::guarded(Operation& operation, void* buffer) {
  const bool plain = operation.internal || operation.extent.begin == nullptr;
  if (!options_.guard_buffers || plain || operation.bytes > largest_guarded) return buffer;
  operation.guard = std::make_shared<BufferGuard>(operation.kind, operation.extent);
  return operation.guard->library_buffer();
}

MPI_Request Recorder::start(Operation operation, const RequestStarter& starter) {
  check_overlap(operation);
  if (operation.guard) operation.guard->arm();
  check(starter(&operation.request), [&] { return operation.text(); });
  const Guard guard(mutex_);
  count_sent(operation);
  open_.push_back(std::move(operation));
  return open_.back().request;
}

void Recorder::keep_persistent(Operation operation, MPI_Request request) {
  operation.request = request;
  operation.persistent = true;
  operation.active = false;
  const Guard guard(mutex_);
  open_.push_back(std::move(operation));
}

void Recorder::activate(const char* call, MPI_Request request) {
  Operation operation;
  {
    const Guard guard(mutex_);
    see_call();
    const Operation* known = find(request);
    if (known == nullptr || !known->persistent) {
      throw std::invalid_argument(std::string(call) + " was given a request that is not persistent");
    }
    operation = *known;
  }
  operation.computations = operation.tiles = operation.early_tests = 0;
  operation.progressed = operation.misused = operation.summed = operation.handed_over = false;
  check_overlap(operation);
  if (operation.guard) operation.guard->arm();
  const Guard guard(mutex_);
  count_sent(operation);
  operation.active = true;
  *find(request) = std::move(operation);
}

Operation* Recorder::find(MPI_Request request) {
  const auto same = [&](const Operation& one) { return one.request == request && !one.released; };
  const auto found = std::find_if(open_.begin(), open_.end(), same);
  return found == open_.end() ? nullptr : &*found;
}

/// Lets `change` enter a completion on the page. In the same step a rank that waits becomes one that
/// computes, until the list of what it waits for is shown anew: a page never says that a rank waits for what
/// is over.
void Recorder::enter_completion(const std::function<void(RankStatus&)>& change) {
  write_page(*page_, [&](RankStatus& own) {
    if (own.phase == static_cast<std::uint32_t>(Phase::Blocked)) {
      own.phase = static_cast<std::uint32_t>(Phase::Computing);
    }
    change(own);
  });
  ++changes_;
}

/// Adds a message to the sums by which the judge sees that both of its ends know of its completion.
void Recorder::sum(RankStatus& own, Operation& operation, const MPI_Status& status) {
  if (operation.kind == Kind::Collective || std::exchange(operation.summed, true)) return;
  const bool receive = operation.kind == Kind::Receive;
  Operation actual = operation;
  if (receive) {
    actual.peer = status.MPI_SOURCE;
    actual.tag = status.MPI_TAG;
  }
  const int peer = actual.case_peer();
  if (peer < 0 || peer >= max_summed_ranks) return;
  (receive ? own.received_sum : own.sent_sum)[peer] +=
      mix(actual.communicator->id, static_cast<std::uint64_t>(actual.tag));
}

void Recorder::complete(MPI_Request request, const MPI_Status& status) {
  const std::optional<Fact> misuse = settle(request, status);
  if (misuse) note(misuse->kind.c_str(), misuse->text + so_far());
}

/// Hands what has arrived to the caller. Returns what the caller has done to the buffer meanwhile, unless a
/// fact has said that already.
std::optional<Fact> Recorder::disarm(const Operation& operation) {
  if (!operation.guard || !operation.guard->disarm() || operation.misused) return std::nullopt;
  const bool sends = operation.kind == Kind::Send;
  return Fact{sends ? fact_send_buffer_changed : fact_receive_buffer_changed,
              "the buffer of " + operation.text() + " was written to while it was still being " +
                  (sends ? "sent" : "received")};
}

void Recorder::hand_over(MPI_Request request) {
  std::optional<Fact> misuse;
  {
    const Guard guard(mutex_);
    Operation* known = find(request);
    if (known != nullptr && known->active) misuse = hand_over(*known);
  }
  if (misuse) note(misuse->kind.c_str(), misuse->text + so_far());
}

/// Its caller learns that the operation is complete. Mutex held; returns what disarm() says.
std::optional<Fact> Recorder::hand_over(Operation& operation) {
  if (std::exchange(operation.handed_over, true)) return std::nullopt;
  look_back(operation);
  return disarm(operation);
}

/// Enters a completion; returns what disarm() says.
std::optional<Fact> Recorder::settle(MPI_Request request, const MPI_Status& status) {
  const Guard guard(mutex_);
  Operation* known = find(request);
  int cancelled = 0;
  PMPI_Test_cancelled(&status, &cancelled);
  const bool real = known != nullptr && known->peer != MPI_PROC_NULL && cancelled == 0;
  enter_completion([&](RankStatus& own) {
    ++own.completed;
    if (known != nullptr && known->kind == Kind::Collective) ++own.collectives;
    if (real && known->kind == Kind::Receive) ++own.receives;
    if (real) sum(own, *known, status);
  });
  if (known == nullptr) return std::nullopt;
  std::optional<Fact> misuse = hand_over(*known);
  if (known->persistent) {
    known->active = false;
  } else {
    open_.remove_if([&](const Operation& one) { return &one == known; });
  }
  return misuse;
}

void Recorder::release(MPI_Request* request) {
  std::string text;
  {
    const Guard guard(mutex_);
    Operation* known = find(*request);
    if (known != nullptr && known->active) {
      known->released = true;
      text = "the request of " + known->text() +
             " was freed before it completed: nothing tells when its buffer may be used again";
      *request = MPI_REQUEST_NULL;
    } else if (known != nullptr) {
      open_.remove_if([&](const Operation& one) { return &one == known; });
    }
  }
  if (text.empty()) {
    check(PMPI_Request_free(request), [] { return std::string("MPI_Request_free"); });
  } else {
    note(fact_unfinished_request, text);
  }
}

/// Ends an operation that the case left open, waiting for nobody but a sender in the midst of a message.
void Recorder::close(Operation& operation) {
  if (operation.active) {
    if (operation.kind == Kind::Receive) PMPI_Cancel(&operation.request);
    const auto deadline = std::chrono::steady_clock::now() + time_for_a_message;
    int done = 0;
    MPI_Status status{};
    do {
      PMPI_Test(&operation.request, &done, &status);
    } while (done == 0 && operation.kind == Kind::Receive && std::chrono::steady_clock::now() < deadline);
    int cancelled = 0;
    if (done != 0) PMPI_Test_cancelled(&status, &cancelled);
    if (done != 0 && cancelled == 0) enter_completion([&](RankStatus& own) { sum(own, operation, status); });
    operation.active = done == 0;
  }
  // A send that is left to the library can still be received; a collective's request cannot be freed.
  if (operation.request != MPI_REQUEST_NULL && operation.kind != Kind::Collective) {
    PMPI_Request_free(&operation.request);
  }
}

Report Recorder::finish() {
  note_lack_of_overlap();
  for (Operation& operation : open_) {
    const bool was_active = operation.active;
    close(operation);
    if (operation.active && operation.kind == Kind::Receive) left_to_library.push_back(operation);
    if (operation.internal || operation.released) continue;
    note(fact_unfinished_request,
         was_active ? operation.text() + " was started, and no MPI_Wait or MPI_Test completed it"
                    : "the request of " + operation.text() + " was never freed with MPI_Request_free");
  }
  open_.remove_if([](const Operation& one) { return !one.active || one.kind == Kind::Receive; });
  write_pending(*page_, pending(nullptr, {}, Need::None), other_threads_,
                static_cast<Phase>(page_->phase.load()));
  left_to_library.splice(left_to_library.end(), open_);
  report_.begin_s = std::chrono::duration<double>(begin_.time_since_epoch()).count();
  return std::move(report_);
}

void Recorder::count_collective_bytes(const char* call, std::int64_t bytes) {
  note(fact_collective,
       std::string(call) + ", in which this rank received " + std::to_string(bytes) + " bytes");
  const Guard guard(mutex_);
  report_.collective_bytes += bytes;
}

Operation Recorder::prepare_collective(const char* call, const std::shared_ptr<Communicator>& communicator,
                                       std::int64_t bytes, int root) {
  const Guard guard(mutex_);
  Operation operation;
  operation.kind = Kind::Collective;
  operation.call = call;
  operation.communicator = communicator;
  operation.peer = root;
  operation.tag = ++communicator->collectives_started;
  operation.bytes = bytes;
  return operation;
}

}  // namespace course::mpi_layer
