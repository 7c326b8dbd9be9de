#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <string>

#include "mpi_layer/recorder.hpp"

namespace course::mpi_layer {

namespace {

/// A message may be tested so often with nothing computed since its start or since the last tile, to set it
/// going. Who tests it once more waits for it.
constexpr int tests_until_waiting = 16;
/// After so many tiles of the first block that hides a message, a test finds it.
constexpr int tiles_until_due = 16;
/// After so many tiles, where tests have asked for some messages and for others never, those asked for have
/// come. Who goes on asking for them alone then looks for nothing, and leaves the others where they are.
constexpr int tiles_until_asked_in_part = 4;
/// In a block of so many tiles or more, calls that make progress have to be spread: no more than half of the
/// tiles in a row pass without.
constexpr int tiles_that_want_spread_calls = 8;
/// Whoever waits for other threads to do something gives up after so long, and then once in a case.
constexpr std::chrono::seconds time_for_a_thread{2};
/// So many looks have to find that the other threads have had their chance (Chances) before it is told that
/// no call makes progress, and that no block is computed: a lesson's cases are many, and each may lack it.
constexpr int looks_before_a_lack = 100;
constexpr int looks_in_vain = 50;
/// The same where nothing seems to be lacking, at the beginning and at the end of each block.
constexpr int looks_at_each_block = 10;
/// As long as another thread waits for a message beside the block.
constexpr int looks_without_end = std::numeric_limits<int>::max();

std::string waited_for(const Operation& operation, const std::string& call) {
  return operation.text() + " was waited for" + (call == operation.call ? "" : " in " + call);
}

std::string tested_for(const Operation& operation, const std::string& call) {
  return operation.text() + " was waited for with one " + call + " after another";
}

}  // namespace

Overlap::Overlap(OpenRequests& open, Journal& journal, bool delay_tests)
    : open_(open), journal_(journal), delay_tests_(delay_tests) {}

void Overlap::begin_computing(std::span<const ComputeBuffer> buffers) {
  const OpenRequests::Guard guard(open_.mutex);
  if (!on_owner_thread()) other_threads_ = true;
  if (looks_at_threads()) let_others_begin();
  computations_.push_back(!on_owner_thread());
  journal_.add_step({});
  computing_thread_ = std::this_thread::get_id();
  computing_ = true;
  idle_call_ = nullptr;
  if (waiting_ > 0) progress_ = {progress_.all + 1, progress_.beside + 1};
  for (Operation& operation : open_.operations) {
    if (!operation.active || operation.handed_over) continue;
    ++operation.computations;
    operation.early_tests = 0;
    for (const ComputeBuffer& buffer : buffers) look_at(operation, buffer);
  }
}

void Overlap::pause_computing() {
  const OpenRequests::Guard guard(open_.mutex);
  for (Operation& operation : open_.operations) {
    if (!operation.active || operation.computations == 0) continue;
    ++operation.tiles;
    operation.early_tests = 0;
    if (std::exchange(operation.progress_at_tile, progress_.all) != progress_.all) operation.tiles_alone = 0;
    operation.most_tiles_alone = std::max(operation.most_tiles_alone, ++operation.tiles_alone);
  }
}

/// Whether a thread makes progress does not depend on when it comes to run: the block lasts until it has.
void Overlap::end_computing() {
  const OpenRequests::Guard guard(open_.mutex);
  finishing_ = true;
  let_others_finish();
  finishing_ = false;
  beside_.clear();
  holds_.clear();  // who was held beside this block begins anew
  computing_ = false;
}

/// Until they have had the chance at so many looks; those begin anew with each call that makes progress.
/// Returns false where that takes too long. The requests are locked, but while this waits.
bool Overlap::let_others_act(const std::function<int()>& looks_wanted) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + time_for_a_thread;
  Chances chances;
  std::uint64_t before = progress_.beside;
  others_act_ = true;
  for (int wanted = looks_wanted(); wanted > 0; wanted = looks_wanted()) {
    if (chances.look(true) >= wanted || Clock::now() > end) break;
    progress_beside_.wait_for(open_.mutex, std::chrono::milliseconds(1));
    if (std::exchange(before, progress_.beside) != before) chances = {};
  }
  others_act_ = false;
  return Clock::now() < end;
}

/// What a thread was started for before a block is under way when the block begins.
void Overlap::let_others_begin() {
  const auto looks_wanted = [&] { return blocked_ < threads_.known() ? looks_at_each_block : 0; };
  if (!let_others_act(looks_wanted)) threads_are_settled_ = true;
}

void Overlap::let_others_finish() {
  const bool in_time = let_others_act([&] { return looks_until_end(); });
  no_thread_came_ |= is_lacking() && threads_.may_be_there();
  threads_are_settled_ |= !in_time;
}

/// How long a block lasts: at how many looks the other threads are to have had their chance.
int Overlap::looks_until_end() const {
  if (is_lacking() && !no_thread_came_) return threads_.may_be_there() ? looks_before_a_lack : 0;
  if (!looks_at_threads()) return 0;
  const bool is_asked_for = std::ranges::any_of(open_.operations, [&](const Operation& operation) {
    const bool by_another =
        operation.asked_by != std::thread::id() && operation.asked_by != computing_thread_;
    return operation.active && operation.is_awaited() && operation.computations > 0 && by_another;
  });
  if (is_asked_for) return blocked_ > 0 ? looks_without_end : looks_before_a_lack;
  return threads_.known() > 0 ? looks_at_each_block : 0;
}

bool Overlap::is_lacking() const {
  return std::ranges::any_of(open_.operations, [&](const Operation& operation) {
    return operation.active && !operation.handed_over && is_left_alone(operation);
  });
}

/// Whether the computation may be given `buffer` while the operation is open.
void Overlap::look_at(Operation& operation, const ComputeBuffer& buffer) {
  const auto* begin = static_cast<const std::byte*>(buffer.data);
  if (operation.extent.begin == nullptr || !operation.extent.overlaps({begin, begin + buffer.bytes})) return;
  if (operation.kind == Kind::Receive) {
    operation.misused = true;
    journal_.note_now({.kind = fact_computed_on_arriving,
                       .text = "a block was computed on the buffer of " + operation.text() +
                               ", which was still being received",
                       .call = operation.call});
  } else if (buffer.written) {
    operation.misused = true;
    journal_.note_now({.kind = fact_send_buffer_changed,
                       .text = "a block was computed into the buffer of " + operation.text() +
                               ", which was still being sent",
                       .call = operation.call});
  }
}

void Overlap::see_call(const char* call) {
  if (!on_owner_thread()) other_threads_ = true;
  if (computing_) idle_call_ = call;
}

void Overlap::note_progress() {
  if (!computing_) return;
  ++progress_.all;
  idle_call_ = nullptr;
  if (std::this_thread::get_id() == computing_thread_) return;
  ++progress_.beside;
  progress_beside_.notify_all();
}

void Overlap::begin_waiting(bool makes_progress) {
  const OpenRequests::Guard guard(open_.mutex);
  ++blocked_;
  if (!makes_progress) return;
  ++waiting_;
  note_progress();
}

void Overlap::end_waiting(bool makes_progress) {
  const OpenRequests::Guard guard(open_.mutex);
  --blocked_;
  holds_.erase(std::this_thread::get_id());
  if (makes_progress) --waiting_;
}

/// What a thread does after another beside a block is beside it, too.
void Overlap::note_start(Operation& operation) {
  operation.progress_before = progress_;
  operation.progress_at_tile = progress_.all;
  operation.tiles_alone = operation.most_tiles_alone = 0;
  const std::thread::id own = std::this_thread::get_id();
  if (!computing_) beside_.insert(own);
  if (computing_ && own != computing_thread_ && beside_.contains(own)) operation.computations = 1;
}

/// The requests are locked. One that is not known was started by a call that is not followed.
bool Overlap::may_be_moved(const Waited& one) {
  if (one.state != Waited::State::Open) return false;
  const Operation* const operation = open_.find(*one.request);
  return operation == nullptr || operation->may_be_looked_for();
}

/// Whether next to nothing has been computed since the operation was started: no block, or of the first one a
/// tile.
bool Overlap::is_unhidden(const Operation& operation) const {
  if (!operation.is_awaited()) return false;
  return computing_ ? operation.computations == 1 && operation.tiles == 1 : operation.computations == 0;
}

bool Overlap::look_at_wait(const char* call, std::vector<Waited>& waited) {
  const OpenRequests::Guard guard(open_.mutex);
  const bool moves = std::ranges::any_of(waited, [&](const Waited& one) { return may_be_moved(one); });
  const bool is_alone = looks_at_threads() && !threads_.may_be_there();
  for (Waited& one : waited) {
    Operation* const operation = one.state == Waited::State::Open ? open_.find(*one.request) : nullptr;
    if (operation == nullptr) continue;
    operation->asked_by = std::this_thread::get_id();
    one.held = looks_at_threads() && !is_alone && is_to_be_held(*operation);
    if (!on_owner_thread() || !(computing_ ? operation->is_awaited() : is_unhidden(*operation))) continue;
    note_wait(waited_for(*operation, call), is_alone ? waited_alone_ : waited_at_once_);
  }
  return moves;
}

bool Overlap::is_to_be_held(const Operation& operation) const {
  if (!operation.is_awaited() || (computing_ && computing_thread_ == std::this_thread::get_id()))
    return false;
  return operation.computations == 0 || (computing_ && !finishing_);
}

void Overlap::hold_wait(const char* call, std::vector<Waited>& waited) {
  const OpenRequests::Guard guard(open_.mutex);
  hold(call, waited, true);
}

void Overlap::hold(const char* call, std::vector<Waited>& waited, bool in_wait) {
  std::vector<const Operation*> held;
  for (Waited& one : waited) {
    const Operation* const operation =
        one.held && one.state == Waited::State::Open ? open_.find(*one.request) : nullptr;
    one.delayed = operation != nullptr && looks_at_threads() && is_to_be_held(*operation);
    if (one.delayed) held.push_back(operation);
  }
  const std::thread::id own = std::this_thread::get_id();
  if (held.empty()) {
    holds_.erase(own);
    return;
  }
  if (!computing_) beside_.insert(own);
  Hold& hold = holds_[own];
  hold.in_wait = in_wait;
  if (!is_in_vain(hold)) return;
  threads_are_settled_ = true;
  for (Waited& one : waited) one.delayed = false;
  for (const Operation* operation : held) {
    const std::string text = in_wait ? waited_for(*operation, call) : tested_for(*operation, call);
    note_wait(text + (on_owner_thread() ? "" : " on another thread"), waited_alone_);
  }
}

/// Whether nobody computes, or the thread that does waits between two tiles: all others have had the chance,
/// and none of them is in a call of MPI's that lasts for another reason.
bool Overlap::is_in_vain(Hold& hold) {
  if (std::chrono::steady_clock::now() > hold.begin + time_for_a_thread) {
    threads_are_settled_ = true;
    return false;
  }
  const auto in_wait = [](const auto& held) { return held.second.in_wait; };
  if (others_act_ || blocked_ > std::ranges::count_if(holds_, in_wait)) return false;
  return hold.chances.look(!computing_) >= looks_in_vain;
}

/// Whether a test may find nothing yet: until the first block that is computed meanwhile is over, or many of
/// its tiles are. What is read before the wait for it is then never there, whether or not the message has
/// come.
bool Overlap::may_be_under_way(const Operation& operation) const {
  return operation.is_awaited() && operation.computations == (computing_ ? 1 : 0);
}

/// Kept until it is known whether a computation follows, as the rest of one does that has paused.
void Overlap::note_wait(const std::string& text, WaitTexts& waits) const {
  if (computing_) {
    waits[std::ssize(computations_) - 1].add(text + " between two tiles of a block");
  } else {
    waits[std::ssize(computations_)].add(text + " before the next block was computed");
  }
}

/// Whether tests have asked for some of what is under way and never for the rest of it.
bool Overlap::is_asked_in_part() const {
  return computing_ && std::ranges::any_of(open_.operations, [&](const Operation& operation) {
           return operation.active && may_be_under_way(operation) && !operation.tested &&
                  operation.tiles >= tiles_until_asked_in_part;
         });
}

void Overlap::look_at_tests(const char* call, std::vector<Waited>& waited) {
  const OpenRequests::Guard guard(open_.mutex);
  if (std::ranges::any_of(waited, [&](const Waited& one) { return may_be_moved(one); })) note_progress();
  if (!delay_tests_) return;
  for (Waited& one : waited) {
    Operation* const operation = open_.find(*one.request);
    if (operation == nullptr) continue;
    operation->asked_by = std::this_thread::get_id();
    operation->tested |= on_owner_thread();
    one.held = !on_owner_thread();
  }
  if (!on_owner_thread()) {
    hold(call, waited, false);
    return;
  }
  const int due_at = is_asked_in_part() ? tiles_until_asked_in_part : tiles_until_due;
  for (Waited& one : waited) {
    if (one.state != Waited::State::Open) continue;
    Operation* operation = open_.find(*one.request);
    if (operation == nullptr || !may_be_under_way(*operation)) continue;
    ++operation->early_tests;
    one.due = computing_ && operation->tiles == due_at && operation->early_tests == 1;
    one.delayed = operation->tiles < due_at && operation->early_tests <= tests_until_waiting;
    if (operation->early_tests != tests_until_waiting + 1 || !is_unhidden(*operation)) continue;
    note_wait(tested_for(*operation, call), waited_at_once_);
  }
}

/// Whether an operation was under way while a block was computed, and nobody moved it: no call made progress,
/// or long pauses of the thread that computes were between those that did.
bool Overlap::is_left_alone(const Operation& operation) const {
  if (!operation.is_message() || operation.computations == 0) return false;
  if (progress_.beside != operation.progress_before.beside) return false;
  const bool is_spread =
      operation.tiles < tiles_that_want_spread_calls || 2 * operation.most_tiles_alone <= operation.tiles;
  return progress_.all == operation.progress_before.all || !is_spread;
}

void Overlap::look_back(const Operation& operation) {
  if (is_left_alone(operation))
    journal_.note({.kind = fact_no_progress, .text = lack_of(operation), .call = operation.call});
}

std::string Overlap::lack_of(const Operation& operation) const {
  const std::string text = operation.text() + " was under way while a block was computed, and ";
  if (progress_.all != operation.progress_before.all)
    return fmt::format("{}{} of {} tiles in a row passed without a call that makes progress", text,
                       operation.most_tiles_alone, operation.tiles);
  return text + "no call made progress meanwhile" +
         (idle_call_ == nullptr ? "" : fmt::format("; {} made none", idle_call_));
}

/// Whether what was waited for after so many computations could have been hidden, and was not. Where a thread
/// of the case's own computes before or after, it may have done so meanwhile: the order of calls shows
/// nothing.
bool Overlap::could_have_hidden(std::ptrdiff_t computations) const {
  if (computations == std::ssize(computations_)) return false;  // nothing was left to hide it
  const bool beside_the_last = computations > 0 && computations_[computations - 1];
  return !beside_the_last && !computations_[computations];
}

void Overlap::note_lack() {
  const OpenRequests::Guard guard(open_.mutex);
  const auto note = [&](const WaitTexts& waits, const auto& is_lack) {
    for (const auto& [computations, texts] : waits) {
      if (!is_lack(computations)) continue;
      for (const std::string& text : texts.all()) journal_.note({fact_waited_at_once, text});
    }
  };
  note(waited_at_once_, [&](std::ptrdiff_t computations) { return could_have_hidden(computations); });
  note(waited_alone_, [&](std::ptrdiff_t computations) { return computations < std::ssize(computations_); });
}

ComputeObserver& compute_observer() {
  static class : public ComputeObserver {
    void begin(std::span<const ComputeBuffer> buffers) override {
      if (Recorder* recorder = watching()) recorder->overlap.begin_computing(buffers);
    }
    void pause() override {
      if (Recorder* recorder = watching()) recorder->overlap.pause_computing();
    }
    void end() override {
      if (Recorder* recorder = watching()) recorder->overlap.end_computing();
    }
  } observer;
  return observer;
}

}  // namespace course::mpi_layer
