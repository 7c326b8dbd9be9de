#include "gpu/simulator/kernel/blocks.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gpu/simulator/findings/findings.hpp"
#include "gpu/simulator/findings/source_lines.hpp"
#include "gpu/simulator/host/errors.hpp"
#include "gpu/simulator/host/streams.hpp"
#include "gpu/simulator/kernel/endless.hpp"
#include "gpu/simulator/kernel/fibers.hpp"
#include "gpu/simulator/kernel/shared_memory.hpp"
#include "gpu/simulator/kernel/warps.hpp"
#include "gpu/simulator/memory/races.hpp"
#include "gpu/simulator/memory/requests.hpp"
#include "protocol/fact_kinds.hpp"
#include "protocol/poison.hpp"

namespace course::gpu {

ThisThread this_thread;

namespace {

/// What a thread may wait for others, in shuffles and at barriers, before its loop is taken to be endless.
constexpr int most_waits = 1 << 16;

class Block {
 public:
  Block(const OperationRecord& launch, std::uint64_t index, const ThreadCode& code, const EndlessWatch& watch)
      : launch_(launch),
        watch_(watch),
        index_(place(index, launch.grid)),
        code_(code),
        warps_((launch.block.size() + warp_lanes - 1) / warp_lanes) {
    this_thread = {{}, index_, launch.block, launch.grid};
    now.access.block = static_cast<std::uint32_t>(index);
    now.access.phase = 0;
    threads_.resize(launch.block.size());
    if (now.counted) begin_requests(warps_.size());
    begin_crowds(warps_.size());
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      threads_[i].fiber = Fiber(i, run_thread);
      threads_[i].index = place(i, launch.block);
      warp_of(i).living |= bit_of(i);
      warp_of(i).ready |= bit_of(i);
    }
  }

  /// Returns whether the kernel may go on.
  bool run() {
    do run_threads();
    while (release());
    if (now.counted) close_requests();
    if (thrown_) std::rethrow_exception(thrown_);
    return !abandoned_;
  }

  /// What a thread does, from its beginning on; does not return.
  void run_to_its_end() {
    try {
      code_.run();
    } catch (...) {
      thrown_ = std::current_exception();
    }
    if (thrown_) Fiber::pause();  // behind the handler, which would otherwise never be left
    threads_[running_].state = State::Ended;
    warp_of(running_).living &= ~bit_of(running_);
    meet_if_complete(running_);
    give_way();
  }

  void wait_at_barrier(int line) {
    Thread& thread = threads_[running_];
    if (++thread.waits >= most_waits) end_endless_waits("__syncthreads()", line);
    thread.state = State::AtBarrier;
    thread.line = line;
    give_way();
  }

  std::uint64_t meet(WarpCall call, unsigned mask, std::uint64_t value, int argument, int width, int line) {
    const unsigned own = bit_of(running_);
    if ((mask & own) == 0) tell_unnamed(call, line);
    mask |= own;
    Thread& thread = threads_[running_];
    if (++thread.waits >= most_waits) end_endless_waits(name_of(call), line);
    thread.state = State::InWarp;
    thread.meeting = {call, mask, value, argument, width, line};
    join_group(warp_of(running_), {call, mask, own});
    meet_if_complete(running_);
    give_way();
    return thread.result;
  }

  void abandon() {
    abandoned_ = true;
    Fiber::pause();
  }

  std::string running_text() const {
    return launch_.name + ", block " + text_of(index_) + ", " + name(running_);
  }

 private:
  enum class State { Ready, AtBarrier, InWarp, Ended };
  struct Thread {
    Fiber fiber;
    uint3 index;
    State state = State::Ready;
    int line = 0;   ///< of the barrier
    int waits = 0;  ///< for others, so far
    WarpMeeting meeting;
    std::uint64_t result = 0;
  };
  struct Warp {
    LaneClocks clocks;
    std::uint32_t living = 0;        ///< lanes that have not ended, a bit each
    std::uint32_t ready = 0;         ///< lanes that wait for nobody and do not run
    std::vector<WarpGroup> waiting;  ///< by call and mask
  };
  /// Lanes of a warp, or warps, that are taken out one by one in a drawn order.
  class Turn {
   public:
    bool is_over() const { return left_ == 0; }
    void begin(std::uint32_t members) {
      const std::uint32_t drawn = drawn_number();
      left_ = members;
      next_ = drawn;
      step_ = drawn / 32 | 1;  // odd, so that it comes to all
    }
    unsigned take() {
      do next_ = (next_ + step_) % 32;
      while ((left_ >> next_ & 1) == 0);
      left_ &= ~(1U << next_);
      return next_;
    }

   private:
    std::uint32_t left_ = 0;  ///< a bit each
    unsigned step_ = 0, next_ = 0;
  };

  /// A fact of the kernel, with a line of it.
  Fact fact_of(const char* kind, std::string text, SourcePlace at) const {
    return {.kind = kind, .text = std::move(text), .call = launch_.name, .at = std::move(at)};
  }

  void note_absent_lane(const std::string& text, int line, const char* mark) const {
    Fact fact = fact_of(fact_absent_lane, text, {line});
    if (*mark != '\0') fact.marks = {mark};
    note(std::move(fact));
  }

  [[gnu::cold, gnu::noinline]] void tell_unnamed(WarpCall call, int line) {
    note_absent_lane(running_text() + " calls " + name_of(call) + " on line " + std::to_string(line) +
                         " with a mask that does not name it",
                     line, mark_unnamed);
  }

  /// A loop that does not end would only be told as a case that takes too long.
  [[gnu::cold, gnu::noinline]] void end_endless_waits(const char* call, int line) {
    note(fact_of(fact_spinning,
                 running_text() + " calls " + call + " on line " + std::to_string(line) +
                     ", and has waited for other threads " + std::to_string(most_waits) +
                     " times by now: a loop around it does not end",
                 {line}));
    break_device(Error::IllegalAddress);
    abandon();
  }

  void end_endless_loop() {
    const SourcePlace at = source_place(watch_.paused_at());
    note(fact_of(fact_spinning,
                 running_text() + " on " + gpu::text_of(at) +
                     " has computed for a long time without a barrier and without an "
                     "access to memory: a loop there does not end",
                 at));
    break_device(Error::IllegalAddress);
    abandoned_ = true;
  }

  static unsigned lane_of(std::size_t thread) { return static_cast<unsigned>(thread % warp_lanes); }
  static std::uint32_t bit_of(std::size_t thread) { return std::uint32_t{1} << lane_of(thread); }
  Warp& warp_of(std::size_t thread) { return warps_[thread / warp_lanes]; }
  std::size_t first_of_warp(std::size_t thread) const { return thread / warp_lanes * warp_lanes; }
  std::string name(std::size_t thread) const { return "thread " + text_of(threads_[thread].index); }

  static void run_thread();

  /// Goes on with every thread that may, until none may, or the kernel is over.
  void run_threads() {
    if (!choose_next()) return;
    threads_[running_].fiber.resume();
    if (watch_.paused_at() != 0) end_endless_loop();
  }

  /// The running thread waits, or has ended: another one goes on, or, where none may, run_threads().
  void give_way() {
    const std::size_t own = running_;
    if (!choose_next()) return Fiber::pause();
    if (running_ != own) Fiber::go_on_with(threads_[running_].fiber);
  }

  /// Makes a thread that may go on the running one; false: there is none. Each goes on once before any does
  /// so again, the lanes of a warp behind one another: their stacks are in the cache together.
  bool choose_next() {
    while (lanes_turn_.is_over()) {
      if (warps_turn_.is_over()) {
        std::uint32_t ready = 0;
        for (std::size_t i = 0; i < warps_.size(); ++i) ready |= std::uint32_t{warps_[i].ready != 0} << i;
        if (ready == 0) return false;
        warps_turn_.begin(ready);
      }
      warp_ = warps_turn_.take();
      lanes_turn_.begin(std::exchange(warps_[warp_].ready, 0));
    }
    begin(lanes_turn_.take(), warps_[warp_].clocks);
    return true;
  }

  void begin(unsigned lane, const LaneClocks& clocks) {
    running_ = warp_ * warp_lanes + lane;
    this_thread.index = threads_[running_].index;
    now.access.warp = static_cast<std::uint16_t>(warp_);
    now.access.lanes = std::uint32_t{1} << lane;
    now.access.tick = clocks.tick(lane);
    now.ticks = clocks.of(lane);
    now.warp_crowd = now.access.tick == 0 ? crowd_of_warp(now.access.warp) : no_crowd;
    ++now.resumes;
    now.accesses = 0;
  }

  static void join_group(Warp& warp, const WarpGroup& lane) {
    const auto is_its = [&](const WarpGroup& one) { return one.call == lane.call && one.mask == lane.mask; };
    const auto found = std::ranges::find_if(warp.waiting, is_its);
    if (found == warp.waiting.end())
      warp.waiting.push_back(lane);
    else
      found->lanes |= lane.lanes;
  }

  /// The lanes that a group's mask names, that have not ended, and that are not there.
  static std::uint32_t missing(const Warp& warp, const WarpGroup& group) {
    return group.mask & warp.living & ~group.lanes;
  }

  /// Thread i has come to its warp's meeting, or to its end, which others may have waited for.
  void meet_if_complete(std::size_t i) {
    const Warp& warp = warp_of(i);
    for (std::size_t at = 0; at < warp.waiting.size();) {
      const WarpGroup& group = warp.waiting[at];
      const bool concerned = threads_[i].state == State::Ended || (group.lanes & bit_of(i)) != 0;
      if (concerned && missing(warp, group) == 0)
        conclude(first_of_warp(i), at);
      else
        ++at;
    }
  }

  /// The group at this place of the warp that begins with thread `first` goes on.
  void conclude(std::size_t first, std::size_t at) {
    Warp& warp = warp_of(first);
    const WarpGroup group = warp.waiting[at];
    warp.waiting.erase(warp.waiting.begin() + static_cast<std::ptrdiff_t>(at));
    if (group.call == WarpCall::SyncWarp) warp.clocks.join(group.lanes);
    if (now.counted) lanes_have_met(first / warp_lanes, group.lanes, group.lanes == warp.living);
    warp.ready |= group.lanes;
    if (is_shuffle(group.call))
      each_lane(group.lanes,
                [&](unsigned lane) { threads_[first + lane].result = shuffled(first + lane, group.lanes); });
    else
      take_votes(first, group);
    each_lane(group.lanes, [&](unsigned lane) { threads_[first + lane].state = State::Ready; });
  }

  void take_votes(std::size_t first, const WarpGroup& group) {
    std::uint32_t ayes = 0;
    each_lane(group.lanes, [&](unsigned lane) {
      if (threads_[first + lane].meeting.value != 0) ayes |= std::uint32_t{1} << lane;
    });
    const std::uint64_t result = vote(group.call, group.lanes, ayes);
    each_lane(group.lanes, [&](unsigned lane) { threads_[first + lane].result = result; });
  }

  std::uint64_t shuffled(std::size_t i, std::uint32_t there) {
    const WarpMeeting& meeting = threads_[i].meeting;
    const unsigned lane = source_lane(meeting, lane_of(i));
    const std::size_t source = first_of_warp(i) + lane;
    if (lane < warp_lanes && (there >> lane & 1) != 0) return threads_[source].meeting.value;
    const bool is_named = source < threads_.size() && (meeting.mask >> lane & 1) != 0;
    const bool has_returned = is_named && threads_[source].state == State::Ended;
    note_absent_lane(launch_.name + ", block " + text_of(index_) + ", " + name(i) +
                         " takes the value of lane " + std::to_string(lane) + " with " +
                         name_of(meeting.call) + " on line " + std::to_string(meeting.line) +
                         ", and that lane " +
                         (source >= threads_.size() ? "does not exist in this block"
                          : !is_named               ? "is not in the mask"
                          : has_returned            ? "has returned"
                                                    : "does not take part"),
                     meeting.line, has_returned ? mark_returned : "");
    return std::uint64_t{poison::device} << 32 | poison::device;
  }

  /// Nobody can go on: ends what they wait for. False: all have ended.
  bool release() {
    if (abandoned_ || thrown_) return false;
    const auto in_warp = std::ranges::find(threads_, State::InWarp, &Thread::state);
    if (in_warp != threads_.end()) {
      conclude_without_the_missing(static_cast<std::size_t>(in_warp - threads_.begin()));
      return true;
    }
    if (std::ranges::count(threads_, State::AtBarrier, &Thread::state) == 0) return false;
    check_barrier();
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i].state != State::AtBarrier) continue;
      threads_[i].state = State::Ready;
      warp_of(i).ready |= bit_of(i);
    }
    for (Warp& warp : warps_) warp.clocks.clear();
    if (now.counted) close_requests();
    ++now.access.phase;
    next_crowds();
    return true;
  }

  void conclude_without_the_missing(std::size_t i) {
    const WarpMeeting& meeting = threads_[i].meeting;
    const Warp& warp = warp_of(i);
    const auto group = std::ranges::find_if(
        warp.waiting, [&](const WarpGroup& one) { return (one.lanes & bit_of(i)) != 0; });
    const std::size_t other =
        first_of_warp(i) + static_cast<std::size_t>(std::countr_zero(missing(warp, *group)));
    note_absent_lane(launch_.name + ", block " + text_of(index_) + ", " + name(i) + " waits in " +
                         name_of(meeting.call) + " on line " + std::to_string(meeting.line) + " for " +
                         name(other) + ", which its mask names and which waits " + where(threads_[other]),
                     meeting.line, mark_waits);
    conclude(first_of_warp(i), static_cast<std::size_t>(group - warp.waiting.begin()));
  }

  std::string where(const Thread& thread) const {
    if (thread.state == State::AtBarrier) return "at __syncthreads() on line " + std::to_string(thread.line);
    return std::string("in ") + name_of(thread.meeting.call) + " on line " +
           std::to_string(thread.meeting.line);
  }

  /// All threads of a block have to reach a barrier, the same one, while any does.
  void check_barrier() {
    const auto first = std::ranges::find(threads_, State::AtBarrier, &Thread::state);
    const auto other = std::ranges::find_if(threads_, [&](const Thread& thread) {
      return thread.state != State::AtBarrier || thread.line != first->line;
    });
    if (other == threads_.end()) return;
    const bool waits = other->state == State::AtBarrier;
    Fact fact = fact_of(fact_divergent_barrier,
                        launch_.name + ", block " + text_of(index_) + ": " +
                            name(static_cast<std::size_t>(first - threads_.begin())) +
                            " waits at __syncthreads() on line " + std::to_string(first->line) + ", and " +
                            name(static_cast<std::size_t>(other - threads_.begin())) +
                            (waits ? " at that on line " + std::to_string(other->line) : " has returned") +
                            ": all threads of a block have to reach the same one",
                        {first->line});
    if (waits) fact.other_at = {other->line};
    if (waits) fact.marks = {mark_other_barrier};
    note(std::move(fact));
  }

  const OperationRecord& launch_;
  const EndlessWatch& watch_;
  uint3 index_;
  const ThreadCode& code_;
  std::vector<Warp> warps_;
  std::vector<Thread> threads_;
  std::size_t running_ = 0;
  std::size_t warp_ = 0;  ///< whose lanes are running
  Turn warps_turn_, lanes_turn_;
  bool abandoned_ = false;
  std::exception_ptr thrown_;
};

Block* running_block = nullptr;

void Block::run_thread() {
  running_block->run_to_its_end();
}

Block& the_block(const char* what) {
  if (running_block == nullptr) throw std::logic_error(std::string(what) + " outside a kernel");
  return *running_block;
}

struct Running {
  explicit Running(Block& block) {
    running_block = &block;
    now.in_kernel = true;
  }
  ~Running() {
    running_block = nullptr;
    now.in_kernel = false;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
};

}  // namespace

void run_blocks(OperationNumber number, const ThreadCode& code) {
  const OperationRecord& launch = record_of(number);
  const EndlessWatch watch(&code);
  if (now.counted) count_launch(launch.name);
  begin_launch_crowd();
  for (const std::uint64_t i : drawn_order(launch.grid.size())) {
    hand_shared_memory_on();
    Block block(launch, i, code, watch);
    const Running running(block);
    if (!block.run()) break;
  }
  tell_pending_race();
}

void abandon_kernel() {
  the_block("a kernel's end").abandon();
}

void refuse_shared_memory(std::size_t bytes, std::size_t most) {
  const OperationRecord& launch = record_of(now.access.operation);
  const std::string text = launch.name + "<<<...>>> on " + line_text(launch.line) +
                           " is not launched: it needs " + std::to_string(bytes) +
                           " bytes of shared memory, with its __shared__ variables, at most " +
                           std::to_string(most) + " are there";
  note({.kind = fact_refused_launch,
        .text = text,
        .call = launch.name,
        .at = call_place(launch.line),
        .marks = {mark_shared_memory}});
  launch_failed(Error::InvalidValue, text);
  abandon_kernel();
}

void sync_threads(int line) {
  the_block("__syncthreads()").wait_at_barrier(line);
}

std::uint64_t meet(WarpCall call, unsigned mask, std::uint64_t value, int argument, int width, int line) {
  Block& block = running_block != nullptr ? *running_block : the_block(name_of(call));
  return block.meet(call, mask, value, argument, width, line);
}

}  // namespace course::gpu
