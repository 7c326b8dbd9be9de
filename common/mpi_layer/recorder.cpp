#include "mpi_layer/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#ifdef COURSE_SANITIZED
#include <sanitizer/asan_interface.h>
#endif

namespace course::mpi_layer {

namespace {

constexpr std::int64_t largest_guarded = 64 * 1024;
/// A receive that can no longer be cancelled is given this long to end before its buffer is abandoned.
constexpr std::chrono::seconds time_for_a_message{1};
std::unique_ptr<Recorder> current;
/// Operations that outlived their case. The library may use what they own until the process ends.
std::list<Operation> left_to_library;

Recorder& watching_for(const char* who) {
  if (!current) throw std::logic_error(std::string("mpi_layer::") + who + ": no case was begun");
  return *current;
}

/// Adds a message that has come to its end here to the sums by which the judge sees that both ends know.
void enter_sum(RankStatus& own, const PendingOperation& message) {
  if (message.peer < 0 || message.peer >= max_summed_ranks) return;
  (message.kind == Kind::Receive ? own.received_sum : own.sent_sum)[message.peer] +=
      mix(message.communicator, static_cast<std::uint64_t>(message.tag));
}

void sum(RankStatus& own, Operation& operation, const MPI_Status& status) {
  if (operation.kind == Kind::Collective || std::exchange(operation.summed, true)) return;
  Operation actual = operation;
  if (operation.kind == Kind::Receive) {
    actual.peer = status.MPI_SOURCE;
    actual.tag = status.MPI_TAG;
  }
  PendingOperation message = actual.pending(nullptr, Need::None);
  message.peer = actual.case_peer();
  enter_sum(own, message);
}

#ifdef COURSE_SANITIZED
/// MPI itself is not compiled for sanitizers: where a call would touch what is nobody's, AddressSanitizer
/// tells so here, and ends the process.
void report_to_sanitizer(const Extent& extent, bool writes) {
  auto* const begin = const_cast<std::byte*>(extent.begin);
  void* const wrong = __asan_region_is_poisoned(begin, extent.end - extent.begin);
  if (wrong == nullptr) return;
  __asan_report_error(__builtin_return_address(0), __builtin_frame_address(0), __builtin_frame_address(0),
                      wrong, writes, extent.end - static_cast<const std::byte*>(wrong));
}
#else
void report_to_sanitizer(const Extent&, bool) {}
#endif

}  // namespace

Recorder* watching() {
  return current.get();
}

void begin(MPI_Comm comm, Options options, RankStatus* status) {
  if (current) throw std::logic_error("mpi_layer::begin: the last case was not ended");
  current = std::make_unique<Recorder>(comm, std::move(options), status);
}

void watch_beside(Beside beside) {
  watching_for(__func__).beside = std::move(beside);
}

void wait_for(const char* call, const std::function<bool()>& done) {
  watching_for(__func__).waiting.wait_for({call}, done);
}

void note_completion(const PendingOperation& message) {
  watching_for(__func__).journal.enter_completion([&](RankStatus& own) {
    ++own.completed;
    own.receives += message.kind == Kind::Receive && message.bytes > 0;
    enter_sum(own, message);
  });
}

void note(const Fact& fact) {
  watching_for(__func__).journal.note(fact);
}

Report end() {
  watching_for(__func__);
  const std::unique_ptr<Recorder> recorder = std::move(current);
  return recorder->finish();
}

Recorder::Recorder(MPI_Comm comm, Options given, RankStatus* watched)
    : options(given), journal(watched), communicators_(comm) {}

std::shared_ptr<Communicator> Recorder::enter(const char* call, MPI_Comm comm) {
  const OpenRequests::Guard guard(open.mutex);
  overlap.see_call(call);
  std::shared_ptr<Communicator> communicator = communicators_.find(call, comm);
  if (communicator->is_foreign_world) {
    journal.note(
        {.kind = fact_world,
         .text = call + std::string(" was called with MPI_COMM_WORLD, not with the communicator that "
                                    "the function was given"),
         .call = call});
  }
  return communicator;
}

void Recorder::enter_made(const char* call, MPI_Comm comm) {
  const OpenRequests::Guard guard(open.mutex);
  overlap.see_call(call);
  communicators_.take_in_made(comm);
}

std::shared_ptr<Communicator> Recorder::enter_group(const char* call, MPI_Group group) {
  const OpenRequests::Guard guard(open.mutex);
  overlap.see_call(call);
  return communicators_.of_group(group);
}

ShownCommunicators Recorder::communicators_beside(const std::vector<PendingOperation>& pending) {
  const OpenRequests::Guard guard(open.mutex);
  return communicators_.shown(pending);
}

void Recorder::forget(const char* call, MPI_Comm comm) {
  const OpenRequests::Guard guard(open.mutex);
  if (communicators_.belongs_to_caller(comm)) {
    throw std::invalid_argument(
        std::string(call) +
        " was called for a communicator that the function did not make: its caller needs it");
  }
  communicators_.forget(comm);
}

void Recorder::note_made(const HandleKind& kind, std::uintptr_t handle, const char* call) {
  const OpenRequests::Guard guard(open.mutex);
  made_.push_back({&kind, handle, call});
}

void Recorder::note_freed(const HandleKind& kind, std::uintptr_t handle) {
  const OpenRequests::Guard guard(open.mutex);
  const auto freed = std::ranges::find_if(
      made_, [&](const Made& made) { return made.kind == &kind && made.handle == handle; });
  if (freed != made_.end()) made_.erase(freed);
}

Operation Recorder::prepare(Kind kind, const Message& message) {
  Operation operation = describe(kind, message, enter(message.call, message.comm));
  check_peer(operation);
  if (kind == Kind::Receive && operation.peer != MPI_PROC_NULL && is_nowhere(message))
    throw_short_room(operation,
                     fmt::format("the buffer of {} is a null pointer, as that of a vector without numbers is",
                                 operation.text()));
  check_extent(operation, operation.extent, kind == Kind::Receive);
  return operation;
}

void Recorder::check_extent(const Operation& operation, const Extent& extent, bool writes) {
  if (extent.begin == nullptr) return;
  report_to_sanitizer(extent, writes);
  const auto memory_at = [&](const auto& find) {
    return find ? find(extent.begin) : std::span<const std::byte>{};
  };
  const std::span<const std::byte> tensor = memory_at(options.tensor_at);
  const bool is_given = !tensor.empty();
  const std::span<const std::byte> memory = is_given ? tensor : memory_at(options.block_at);
  if (memory.empty()) return;
  const std::byte* const end = memory.data() + memory.size();
  if (extent.end <= end) return;
  const std::string text =
      fmt::format("the buffer of {} begins in {} and ends {} bytes beyond it", operation.text(),
                  is_given ? "a tensor that the function was given"
                           : fmt::format("memory of {} bytes that the function allocated", memory.size()),
                  extent.end - end);
  const bool may_count_bytes = extent.begin + (extent.end - extent.begin) / 4 == end;
  if (operation.kind == Kind::Receive && !is_given && !may_count_bytes) throw_short_room(operation, text);
  Fact fact{.kind = is_given ? fact_beyond_tensor : fact_beyond_block, .text = text, .call = operation.call};
  if (may_count_bytes) {
    fact.text += "; a count of bytes in place of one of numbers would do that";
    fact.marks = {mark_four_times};
  }
  journal.note_now(std::move(fact));
}

/// Thrown, since what the library would write there may be anything.
void Recorder::throw_short_room(const Operation& operation, const std::string& text) {
  journal.note_and_throw<std::invalid_argument>(
      {.kind = fact_short_room, .text = text, .call = operation.call});
}

void Recorder::keep_matched(MPI_Message message, const Matched& matched) {
  const OpenRequests::Guard guard(open.mutex);
  matched_[message] = matched;
}

Matched Recorder::take_matched(const char* call, MPI_Message message) {
  const OpenRequests::Guard guard(open.mutex);
  const auto found = matched_.find(message);
  if (found == matched_.end())
    throw std::invalid_argument(std::string(call) + " was given a message that no MPI_Mprobe has found");
  const Matched matched = found->second;
  matched_.erase(found);
  return matched;
}

void Recorder::check_peer(const Operation& operation) {
  const int peer = operation.peer;
  const int size = operation.communicator->size;
  const bool receive = operation.kind == Kind::Receive;
  const std::string call = operation.call;
  if (peer == MPI_PROC_NULL) {
    journal.note({.kind = receive ? fact_null_source : fact_null_destination,
                  .text = fmt::format("{} {} MPI_PROC_NULL, {}", call, receive ? "from" : "to",
                                      receive ? "which sends nothing: what was in the room stays in it"
                                              : "where nobody receives it"),
                  .call = call});
    return;
  }
  if (receive && peer == MPI_ANY_SOURCE) {
    journal.note_now({.kind = fact_any_source,
                      .text = fmt::format("{} from source {}, which is MPI_ANY_SOURCE here", call, peer),
                      .call = call});
    return;
  }
  if (peer < 0 || peer >= size) {
    std::string text = fmt::format("{} {} rank {}, but the ranks of this communicator are 0 to {}", call,
                                   receive ? "from" : "to", peer, size - 1);
    if (peer < 0) text += "; in C++ the remainder of a negative number is negative: -1 % P is -1";
    journal.note_now({.kind = fact_invalid_peer, .text = text, .call = call});
    throw std::invalid_argument(text);
  }
  if (peer == operation.communicator->rank) {
    journal.note_now({.kind = fact_self_message,
                      .text = call + direction(operation.kind, peer) + ", which is this rank itself",
                      .call = call});
  }
}

/// The requests are locked.
void Recorder::check_overlap(Operation& operation) {
  if (operation.extent.begin == nullptr) return;
  Fact fact{.kind = fact_overlapping_buffers, .text = "", .call = operation.call};
  bool reused_before_wait = false, both_receive = false;
  for (Operation* other : open.overlapping(operation.extent)) {
    const bool writes = operation.kind == Kind::Receive || other->kind == Kind::Receive;
    if (!other->active || other->handed_over || !writes) continue;
    operation.misused = other->misused = true;
    reused_before_wait |= other->computations > 0;
    both_receive = operation.kind == Kind::Receive && other->kind == Kind::Receive;
    fact.other_call = other->call;
    fact.text = fmt::format("the buffer of {} overlaps that of {}, which is still being {}", operation.text(),
                            other->text(), other->kind == Kind::Send ? "sent" : "received");
  }
  if (fact.text.empty()) return;
  const auto note_as = [&](const char* kind) {
    fact.kind = kind;
    journal.note_now(fact);
  };
  if (reused_before_wait) note_as(fact_reused_before_wait);
  if (both_receive) note_as(fact_shared_room);
  note_as(fact_overlapping_buffers);
}

void* Recorder::guarded(Operation& operation, const void* buffer) const {
  const bool plain = operation.internal || operation.extent.begin == nullptr;
  if (!options.guard_buffers || plain || operation.bytes > largest_guarded) return const_cast<void*>(buffer);
  operation.guard = std::make_shared<BufferGuard>(operation.kind, operation.extent);
  return operation.guard->library_buffer();
}

MPI_Request Recorder::start(Operation operation, const RequestStarter& starter) {
  std::unique_lock guard(open.mutex);
  check_overlap(operation);
  guard.unlock();
  if (operation.guard) operation.guard->arm();
  check(starter(&operation.request), operation);
  journal.count_sent(operation);
  guard.lock();
  overlap.note_start(operation);
  if (!operation.internal) ++requests_started_;
  return open.add(std::move(operation));
}

void Recorder::keep_persistent(Operation operation, MPI_Request request) {
  operation.request = request;
  operation.persistent = true;
  operation.active = false;
  const OpenRequests::Guard guard(open.mutex);
  open.add(std::move(operation));
}

void Recorder::activate(const char* call, MPI_Request request) {
  const OpenRequests::Guard guard(open.mutex);
  overlap.see_call(call);
  Operation* known = open.find(request);
  if (known == nullptr || !known->persistent)
    throw std::invalid_argument(std::string(call) + " was given a request that is not persistent");
  known->computations = known->tiles = known->early_tests = 0;
  known->tested = false;
  known->asked_by = {};
  known->misused = known->summed = known->handed_over = false;
  overlap.note_start(*known);
  check_overlap(*known);
  if (known->guard) known->guard->arm();
  journal.count_sent(*known);
  ++requests_started_;
  known->active = true;
}

void Recorder::enter_arrival(Operation& operation, const MPI_Status& status) {
  journal.enter_completion([&](RankStatus& own) { sum(own, operation, status); });
}

void Recorder::refuse_ended(const char* call, MPI_Request request) {
  const OpenRequests::Ended* const ended = open.ended(request);
  if (ended == nullptr) return;
  const bool freed = std::string(ended->by) == "MPI_Request_free";
  const std::string text = fmt::format(
      "{} was given the request of {}, which {} had already {}: the handle was copied, and the copy "
      "did not become MPI_REQUEST_NULL{}",
      call, ended->operation.text(), ended->by, freed ? "freed" : "completed", journal.now());
  journal.note_and_throw<std::invalid_argument>(
      {.kind = fact_ended_request, .text = text, .call = call, .other_call = ended->operation.call});
}

void Recorder::hand_over(MPI_Request request) {
  const OpenRequests::Guard guard(open.mutex);
  Operation* known = open.find(request);
  if (known != nullptr && known->active) hand_over(*known);
}

/// Its caller learns that the operation is complete, and gets what has arrived. What the caller has done to
/// the buffer meanwhile is noted, unless a fact has said it already.
void Recorder::hand_over(Operation& operation) {
  if (std::exchange(operation.handed_over, true)) return;
  overlap.look_back(operation);
  if (!operation.guard || !operation.guard->disarm() || operation.misused) return;
  const bool sends = operation.kind == Kind::Send;
  journal.note_now({.kind = sends ? fact_send_buffer_changed : fact_receive_buffer_changed,
                    .text = fmt::format("the buffer of {} was written to while it was still being {}",
                                        operation.text(), sends ? "sent" : "received"),
                    .call = operation.call});
}

/// Notes that a message has not filled its receive's room.
void Recorder::note_length(const Operation& receive, const MPI_Status& status) {
  int arrived = 0;
  PMPI_Get_count(&status, MPI_BYTE, &arrived);
  if (arrived == MPI_UNDEFINED || arrived >= receive.bytes) return;
  journal.note_in_report({.kind = fact_short_message,
                          .text = receive.text(),
                          .call = receive.call,
                          .bytes = arrived,
                          .room = receive.bytes});
}

void Recorder::complete(MPI_Request request, const MPI_Status& status, const char* by) {
  const OpenRequests::Guard guard(open.mutex);
  Operation* known = open.find(request);
  int cancelled = 0;
  PMPI_Test_cancelled(&status, &cancelled);
  const bool real = known != nullptr && known->peer != MPI_PROC_NULL && cancelled == 0;
  journal.enter_completion([&](RankStatus& own) {
    ++own.completed;
    if (known != nullptr && known->kind == Kind::Collective) ++own.collectives;
    if (real && known->kind == Kind::Receive) ++own.receives;
    if (real) sum(own, *known, status);
  });
  if (known == nullptr) return;
  if (real && known->kind == Kind::Receive)
    journal.add_step({RankStep::Kind::Has, known->case_peer(), known->bytes});
  hand_over(*known);
  if (real && known->kind == Kind::Receive) note_length(*known, status);
  if (known->persistent) {
    known->active = false;
  } else {
    open.note_end(*known, by);
    open.remove(*known);
  }
}

void Recorder::throw_failure(int code, MPI_Request request, const MPI_Status& status) {
  Operation failed;
  {
    const OpenRequests::Guard guard(open.mutex);
    if (const Operation* known = open.find(request)) {
      failed = *known;
      open.remove(*known);
    }
  }
  std::string text = failed.communicator ? failed.text() : "an operation of an unknown request";
  int error_class = 0;
  PMPI_Error_class(code, &error_class);
  if (error_class == MPI_ERR_TRUNCATE) {
    int arrived = 0;
    PMPI_Get_count(&status, MPI_BYTE, &arrived);
    if (arrived > failed.bytes) {
      text +=
          fmt::format(": rank {} sent {} bytes, the room has {}", status.MPI_SOURCE, arrived, failed.bytes);
      journal.note({.kind = fact_truncated,
                    .text = fmt::format("{} bytes for {}", arrived, failed.bytes),
                    .call = failed.call,
                    .bytes = arrived,
                    .room = failed.bytes});
      text += journal.now();
    } else {
      text += ": the message that arrived is longer than the buffer";
    }
  }
  throw_error(code, text);
}

void Recorder::release(MPI_Request* request) {
  constexpr const char* call = "MPI_Request_free";
  const OpenRequests::Guard guard(open.mutex);
  refuse_ended(call, *request);
  Operation* known = open.find(*request);
  if (known != nullptr) open.note_end(*known, call);
  if (known != nullptr && known->active) {
    known->released = true;
    open.hide(*known);
    journal.note({.kind = fact_unfinished_request,
                  .text = "the request of " + known->text() +
                          " was freed before it completed: nothing tells when its buffer may be used again",
                  .call = known->call});
    *request = MPI_REQUEST_NULL;
    return;
  }
  if (known != nullptr) open.remove(*known);
  check(PMPI_Request_free(request), call);
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
    if (done != 0 && cancelled == 0) enter_arrival(operation, status);
    operation.active = done == 0;
  }
  // A send that is left to the library can still be received; a collective's request cannot be freed.
  if (operation.request != MPI_REQUEST_NULL && operation.kind != Kind::Collective) {
    PMPI_Request_free(&operation.request);
  }
}

Report Recorder::finish() {
  overlap.note_lack();
  for (const Made& left : made_)
    journal.note({.kind = fact_not_freed,
                  .text = fmt::format("{} made a {}, which was never freed with {}", left.call,
                                      left.kind->name, left.kind->free),
                  .call = left.call});
  std::vector<PendingOperation> sending;
  const auto is_unfinished = [](const Operation& one) {
    return one.active && !one.internal && !one.released;
  };
  const std::ptrdiff_t unfinished = std::ranges::count_if(open.operations, is_unfinished);
  const std::string of_all = unfinished < 2
                                 ? ""
                                 : fmt::format("; so it is with {} of the {} requests that this rank started",
                                               unfinished, requests_started_);
  for (Operation& operation : open.operations) {
    const bool was_active = operation.active;
    close(operation);
    if (!operation.internal && !operation.released) {
      journal.note(
          {.kind = fact_unfinished_request,
           .text = was_active
                       ? operation.text() + " was started, and no MPI_Wait or MPI_Test completed it" + of_all
                       : "the request of " + operation.text() + " was never freed with MPI_Request_free",
           .call = operation.call});
    }
    if (!operation.active) continue;
    if (operation.kind != Kind::Receive && !operation.summed)
      sending.push_back(operation.pending(nullptr, Need::None));
    left_to_library.push_back(std::move(operation));
  }
  journal.show(sending, communicators_.shown(sending), overlap.other_threads());
  return journal.take();
}

Operation Recorder::prepare_collective(const char* call, const std::shared_ptr<Communicator>& communicator,
                                       std::int64_t bytes, int root, std::uint64_t awaited) {
  const OpenRequests::Guard guard(open.mutex);
  communicator->awaited = awaited;
  return {.kind = Kind::Collective,
          .call = call,
          .communicator = communicator,
          .peer = root,
          .tag = ++communicator->collectives_started,
          .bytes = bytes};
}

}  // namespace course::mpi_layer
