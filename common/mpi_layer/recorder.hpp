#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mpi_layer/journal.hpp"
#include "mpi_layer/mpi_layer.hpp"
#include "mpi_layer/operation.hpp"
#include "mpi_layer/other_threads.hpp"
#include "mpi_layer/own_memory.hpp"
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
  bool delayed = false;   ///< it is not found complete this time
  bool due = false;       ///< a test of it gives it time to complete, to find it for certain
  bool held = false;      ///< it stays open until a block has been computed meanwhile: Overlap::hold_wait()
  const char* call = "";  ///< that waits for it or tests it; of one that its caller never sees ""
};

/// A call's name, and what the trace shows of it.
struct CallLabel {
  const char* call;
  Span::Kind kind = Span::Kind::Wait;
  std::string text = call;
};

/// The operations that have a request, in the order in which they were started. The mutex is held by whoever
/// looks at them or changes them, and never while the library waits for another rank, so that a second thread
/// may make progress meanwhile.
struct OpenRequests {
  using Guard = std::lock_guard<std::mutex>;
  std::mutex mutex;
  std::pmr::list<Operation> operations{&own_memory()};

  /// Keeps the operation, which has its request; returns that.
  MPI_Request add(Operation operation);
  /// The one that its caller knows by this request; null when none is. The library may give one request to
  /// several, as it does for those with MPI_PROC_NULL, or to another thread before the first is known to be
  /// complete: then the first.
  Operation* find(MPI_Request request);
  /// What is told of an operation that is over.
  struct Ended {
    Description operation;
    const char* by;  ///< the call that completed it, or freed its request
  };
  /// The operation that its caller knew by this request, when that is over and no other has the request now:
  /// a copy of the handle. Else null.
  const Ended* ended(MPI_Request request);
  /// The library has given the request to an operation that is not kept here.
  void forget_ended(MPI_Request request) { ended_.erase(request); }
  /// Those whose buffers share a byte with this extent.
  std::vector<Operation*> overlapping(const Extent& extent);
  /// No request of the caller's leads to the operation any more. It stays among the operations.
  void hide(const Operation& operation);
  void remove(const Operation& operation);
  /// `by` has completed the operation, or freed its request.
  void note_end(const Operation& operation, const char* by);

 private:
  using Place = std::pmr::list<Operation>::iterator;
  Place take_request(const Operation& operation);

  std::pmr::multimap<MPI_Request, Place> by_request_{&own_memory()};
  std::pmr::multimap<const std::byte*, Operation*> by_begin_{&own_memory()};
  std::ptrdiff_t longest_ = 0;  ///< bytes; no buffer in by_begin_ is longer
  std::pmr::map<MPI_Request, Ended> ended_{&own_memory()};
};

/// The first different texts, as many as are told of one kind.
class FirstTexts {
 public:
  void add(std::string text) {
    const bool known = std::ranges::find(texts_, text) != texts_.end();
    if (!known && std::ssize(texts_) < facts_of_a_kind) texts_.push_back(std::move(text));
  }
  const std::vector<std::string>& all() const { return texts_; }

 private:
  std::vector<std::string> texts_;
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

  /// Every MPI call passes here, the requests locked.
  void see_call(const char* call);
  /// A call lets the library look for what is not there yet: it moves what is open. The requests are locked.
  void note_progress();
  /// A thread waits in a call, from the first of these to the second, and so perhaps makes progress.
  void begin_waiting(bool makes_progress);
  void end_waiting(bool makes_progress);
  /// The operation is about to be started, perhaps again; the requests are locked.
  void note_start(Operation& operation);
  /// Operations are waited for. What was computed since they were started could hide them; what is computed
  /// later, be it the other tiles of the same block, could have. Marks those that hold_wait() is to look
  /// at. Returns whether the wait makes progress.
  bool look_at_wait(const char* call, std::vector<Waited>& waited);
  /// Of the operations that are marked `held` delays those that no whole block has been computed beside yet.
  /// A thread that transfers beside a block sees that at the block's end, whoever is quicker. Where nobody
  /// computes although all other threads have had the chance, nothing is hidden: that is noted.
  void hold_wait(const char* call, std::vector<Waited>& waited);
  /// Looks at tests of messages that no whole block could have hidden yet: marks those that are to find
  /// nothing (Options::delay_tests), and notes a row of them where next to nothing was computed. After many
  /// tiles of one block a test is to find for certain what it can, as it may with a block that takes long;
  /// after few where tests ask for some messages and never for the others. A test of what is open makes
  /// progress. Tests of another thread are held.
  void look_at_tests(const char* call, std::vector<Waited>& waited);
  /// The operation is complete; the requests are locked.
  void look_back(const Operation& operation);
  /// What only the end of the case shows: what was computed after a wait.
  void note_lack();

 private:
  /// A thread that is held, since when.
  struct Hold {
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    Chances chances = {};
    bool in_wait = false;  ///< else it tests
  };
  /// Waits by the computations so far.
  using WaitTexts = std::map<std::ptrdiff_t, FirstTexts>;

  bool may_be_moved(const Waited& one);
  bool looks_at_threads() const { return delay_tests_ && !threads_are_settled_; }
  bool let_others_act(const std::function<int()>& looks_wanted);
  void let_others_begin();
  void let_others_finish();
  int looks_until_end() const;
  bool is_lacking() const;
  bool is_to_be_held(const Operation& operation) const;
  void hold(const char* call, std::vector<Waited>& waited, bool in_wait);
  bool is_in_vain(Hold& hold);
  bool is_left_alone(const Operation& operation) const;
  std::string lack_of(const Operation& operation) const;
  void look_at(Operation& operation, const ComputeBuffer& buffer);
  bool is_unhidden(const Operation& operation) const;
  bool may_be_under_way(const Operation& operation) const;
  bool is_asked_in_part() const;
  void note_wait(const std::string& text, WaitTexts& waits) const;
  bool could_have_hidden(std::ptrdiff_t computations) const;

  OpenRequests& open_;
  Journal& journal_;
  const bool delay_tests_;
  const std::thread::id owner_ = std::this_thread::get_id();
  const OtherThreads threads_;
  std::atomic<bool> other_threads_ = false;
  std::atomic<bool> computing_ = false;
  bool others_act_ = false;  ///< the thread that computes waits for them
  bool finishing_ = false;   ///< it does at the end of a block
  std::thread::id computing_thread_;
  int blocked_ = 0;  ///< threads in waits
  int waiting_ = 0;  ///< those of them that make progress
  ProgressCalls progress_ = {};
  const char* idle_call_ = nullptr;  ///< the last one during a computation that made none
  std::condition_variable_any progress_beside_;
  bool no_thread_came_ = false;       ///< of this case: what one lacks says nothing of the next
  bool threads_are_settled_ = false;  ///< of this case it is known, or never will be, what they hide
  std::set<std::thread::id> beside_;  ///< those that began a transfer before this block, or the next one
  std::map<std::thread::id, Hold> holds_;
  std::vector<bool> computations_;  ///< one each: whether a thread of the case's own did it
  WaitTexts waited_at_once_;
  WaitTexts waited_alone_;  ///< while nobody computed for certain
};

/// Waits and tests, which complete operations, while the page shows what is pending.
class Waiting {
 public:
  explicit Waiting(Recorder& recorder);

  /// The requests that `call` was given. Throws std::invalid_argument for one that is over.
  std::vector<Waited> gather(const char* call, int count, MPI_Request* requests);
  /// Blocks until all of the requests, or with Need::Any one of them, have completed.
  void wait(CallLabel label, std::vector<Waited>& waited, Need need);
  /// Completes what can be completed now: with Need::All either all or nothing, with Need::Any one. Returns
  /// whether it did (or nothing was open); a row of tests that did not is polling.
  bool test(const char* call, std::vector<Waited>& waited, Need need);
  /// Completes the open requests that need no waiting: all of them, or with Need::Any one.
  void advance_open(std::vector<Waited>& waited, Need need);
  /// Lets what passes beside MPI's calls go on.
  void advance_beside() const;
  /// Blocks until arrived() says yes, while the page shows `probe`.
  void wait_for_message(CallLabel label, const Operation& probe, const std::function<bool()>& arrived);
  /// Blocks until done(), while the page shows what is under way, beside MPI's calls too.
  void wait_for(CallLabel label, const std::function<bool()>& done);
  /// Runs a blocking call of the library while the page shows `operation`; returns its code. Where something
  /// passes beside MPI's calls, which the library knows nothing of, the ranks of a collective's communicator
  /// come together first.
  int run_blocked(CallLabel label, const Operation& operation, const std::function<int()>& call,
                  MPI_Comm collective = MPI_COMM_NULL);
  /// Counts one test that found nothing, or ends a row of them.
  void note_test(bool found, const std::function<std::vector<PendingOperation>()>& pending_now);

  /// What is open: first those of `waited`, as waited for by `call`. One more than a page has room for says
  /// that there may be yet more.
  std::vector<PendingOperation> pending(const char* call, const std::vector<Waited>& waited, Need need);
  /// The same with nothing waited for but `operation`.
  std::vector<PendingOperation> pending_with(const Operation& operation);

 private:
  class Scope;
  using PendingNow = std::function<std::vector<PendingOperation>()>;

  void await_due(const std::vector<Waited>& waited) const;
  bool advance_all(std::vector<Waited>& waited, Need need);
  bool advance_from(std::size_t& first, std::vector<Waited>& waited);
  /// Completes an open request if that needs no waiting.
  bool advance(Waited& waited);
  void finish(Waited& waited, MPI_Request left, const MPI_Status& status);
  void settle_open();
  void come_together(MPI_Comm comm, const Operation& operation);
  void block(const std::function<bool()>& done, const std::function<void()>& look_round,
             const PendingNow& pending_now);
  void show(Phase phase, const std::vector<PendingOperation>& pending);

  Recorder& recorder_;
  bool more_ranks_than_cores_ = false;
  int fruitless_tests_ = 0;
};

/// Where a message comes from that MPI_Mprobe has found, and that only its own receive gets.
struct Matched {
  int source;
  int tag;
  MPI_Comm comm;
};

using RequestStarter = std::function<int(MPI_Request*)>;

/// A kind of what a function makes and has to free.
struct HandleKind {
  const char* name;
  const char* free;  ///< the call that frees it
};
inline constexpr HandleKind communicator_handle{"communicator", "MPI_Comm_free"};
inline constexpr HandleKind group_handle{"group", "MPI_Group_free"};
inline constexpr HandleKind datatype_handle{"datatype", "MPI_Type_free"};
inline constexpr HandleKind operation_handle{"reduction operation", "MPI_Op_free"};

/// One rank's case between begin() and end(): its operations from their start to their completion, and what
/// is known of them besides. The locks are taken from the outside inwards: open, then journal.
class Recorder {
 public:
  Recorder(MPI_Comm comm, Options given, RankStatus* watched);
  Report finish();

  const Options options;
  Beside beside;
  Journal journal;
  OpenRequests open;
  Overlap overlap{open, journal, options.delay_tests};
  Waiting waiting{*this};

  /// What is known of comm; every wrapper that is given a communicator passes here.
  std::shared_ptr<Communicator> enter(const char* call, MPI_Comm comm);
  /// The same of one that its members have just made together.
  void enter_made(const char* call, MPI_Comm comm);
  /// The same of those who make a communicator of this group, which is not yet one.
  std::shared_ptr<Communicator> enter_group(const char* call, MPI_Group group);
  /// What the page tells of communicators while these operations are pending.
  ShownCommunicators communicators_beside(const std::vector<PendingOperation>& pending);
  /// Forgets a communicator that is about to be freed. Throws std::invalid_argument when its caller needs it.
  void forget(const char* call, MPI_Comm comm);

  /// `call` has made a handle that the function has to free. The library may give one handle several times.
  void note_made(const HandleKind& kind, std::uintptr_t handle, const char* call);
  void note_freed(const HandleKind& kind, std::uintptr_t handle);

  /// A send or a receive about to be started, its peer checked.
  Operation prepare(Kind kind, const Message& message);
  /// `awaited` are the members without whose part it cannot end here, a bit for each rank of the case.
  Operation prepare_collective(const char* call, const std::shared_ptr<Communicator>& communicator,
                               std::int64_t bytes, int root, std::uint64_t awaited = 0);
  /// Notes where the operation reads, or `writes`, beyond the memory that the extent begins in.
  void check_extent(const Operation& operation, const Extent& extent, bool writes);
  /// What the library is given for the caller's buffer: that, or what stands between. A receive's buffer was
  /// given for writing.
  void* guarded(Operation& operation, const void* buffer) const;
  void keep_matched(MPI_Message message, const Matched& matched);
  /// Throws std::invalid_argument naming `call` for a message that is not kept.
  Matched take_matched(const char* call, MPI_Message message);
  /// Starts the operation and keeps it until it completes; returns its request.
  MPI_Request start(Operation operation, const RequestStarter& starter);
  /// Keeps a persistent operation, not started.
  void keep_persistent(Operation operation, MPI_Request request);
  /// Says that a persistent request is about to be started.
  void activate(const char* call, MPI_Request request);
  /// Takes a request from a caller who frees it.
  void release(MPI_Request* request);

  /// Throws std::invalid_argument for a copy of a request that is over: the library would follow it to memory
  /// that it has freed. The requests are locked.
  void refuse_ended(const char* call, MPI_Request request);
  /// The caller has been told that the operation is complete, and keeps its request.
  void hand_over(MPI_Request request);
  /// The same of one whose request is over with that, by this call of the caller's.
  void complete(MPI_Request request, const MPI_Status& status, const char* by);
  /// Throws what the library says about a failed operation, which is over with that.
  [[noreturn]] void throw_failure(int code, MPI_Request request, const MPI_Status& status);
  /// Adds a message that has come to its end to the sums by which the judge sees that both of its ends know.
  void enter_arrival(Operation& operation, const MPI_Status& status);

 private:
  void check_peer(const Operation& operation);
  [[noreturn]] void throw_short_room(const Operation& operation, const std::string& text);
  void check_overlap(Operation& operation);
  void hand_over(Operation& operation);
  void note_length(const Operation& receive, const MPI_Status& status);
  void close(Operation& operation);

  struct Made {
    const HandleKind* kind;
    std::uintptr_t handle;
    const char* call;
  };

  Communicators communicators_;
  std::vector<Made> made_;
  std::map<MPI_Message, Matched> matched_;
  int requests_started_ = 0;  ///< by the caller, who has their handles
};

/// The recorder between begin() and end(), else null.
Recorder* watching();

}  // namespace course::mpi_layer
