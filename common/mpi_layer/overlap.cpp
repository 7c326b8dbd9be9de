#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
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
/// A thread that is to make progress gets so long to come to its call before a block ends. Only where none
/// makes one does it pass, and then once in a case.
constexpr std::chrono::seconds time_for_a_thread{2};
/// It is up sooner where all other threads sleep when looked at so often, a millisecond apart: a thread that
/// waits for a core does not sleep. A lesson's cases are many, and each may lack a call.
constexpr int looks_at_sleepers = 100;

/// Whether the other threads of this process sleep; no where that cannot be read.
bool others_sleep() {
  std::error_code unreadable;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", unreadable)) {
    if (task.path().filename() == std::to_string(gettid())) continue;
    std::ifstream file(task.path() / "stat");
    std::string text;
    if (!std::getline(file, text)) continue;  // it has ended
    // "ID (NAME) STATE ...": the name may have brackets of its own.
    if (text.substr(text.rfind(')') + 1, 2) != " S") return false;
  }
  return !unreadable;
}

/// How many threads this process has; -1 when that cannot be read.
int threads_of_process() {
  const std::string field = "Threads:";
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field)) return std::stoi(line.substr(field.size()));
  }
  return -1;
}

}  // namespace

Overlap::Overlap(OpenRequests& open, Journal& journal, bool delay_tests)
    : open_(open), journal_(journal), delay_tests_(delay_tests), threads_at_begin_(threads_of_process()) {}

void Overlap::begin_computing(std::span<const ComputeBuffer> buffers) {
  const OpenRequests::Guard guard(open_.mutex);
  if (!on_owner_thread()) other_threads_ = true;
  computations_.push_back(!on_owner_thread());
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
  const bool is_lacking = std::ranges::any_of(open_.operations, [&](const Operation& operation) {
    return operation.active && !operation.handed_over && is_left_alone(operation);
  });
  if (is_lacking && !no_thread_came_ && may_call_from_other_threads()) wait_for_a_thread();
  computing_ = false;
}

/// The requests are locked, but while this waits.
void Overlap::wait_for_a_thread() {
  using Clock = std::chrono::steady_clock;
  const auto has_come = [&, before = progress_.beside] { return progress_.beside != before; };
  const Clock::time_point end = Clock::now() + time_for_a_thread;
  for (int asleep = 0; asleep < looks_at_sleepers && Clock::now() < end; asleep += others_sleep() ? 1 : 0) {
    if (progress_beside_.wait_for(open_.mutex, std::chrono::milliseconds(1), has_come)) return;
  }
  no_thread_came_ = true;
}

bool Overlap::may_call_from_other_threads() const {
  return other_threads_ || threads_at_begin_ < 0 || threads_of_process() > threads_at_begin_;
}

/// Whether the computation may be given `buffer` while the operation is open.
void Overlap::look_at(Operation& operation, const ComputeBuffer& buffer) {
  const auto* begin = static_cast<const std::byte*>(buffer.data);
  if (operation.extent.begin == nullptr || !operation.extent.overlaps({begin, begin + buffer.bytes})) return;
  if (operation.kind == Kind::Receive) {
    operation.misused = true;
    journal_.note_now(fact_computed_on_arriving, "a block was computed on the buffer of " + operation.text() +
                                                     ", which was still being received");
  } else if (buffer.written) {
    operation.misused = true;
    journal_.note_now(fact_send_buffer_changed, "a block was computed into the buffer of " +
                                                    operation.text() + ", which was still being sent");
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

void Overlap::begin_waiting() {
  const OpenRequests::Guard guard(open_.mutex);
  ++waiting_;
  note_progress();
}

void Overlap::end_waiting() {
  const OpenRequests::Guard guard(open_.mutex);
  --waiting_;
}

void Overlap::note_start(Operation& operation) const {
  operation.progress_before = progress_;
  operation.progress_at_tile = progress_.all;
  operation.tiles_alone = operation.most_tiles_alone = 0;
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

bool Overlap::look_at_wait(const char* call, const std::vector<Waited>& waited) {
  const OpenRequests::Guard guard(open_.mutex);
  const bool moves = std::ranges::any_of(waited, [&](const Waited& one) { return may_be_moved(one); });
  if (!on_owner_thread()) return moves;
  for (const Waited& one : waited) {
    if (one.state != Waited::State::Open) continue;
    const Operation* operation = open_.find(*one.request);
    if (operation == nullptr || !(computing_ ? operation->is_awaited() : is_unhidden(*operation))) continue;
    std::string text = operation->text() + " was waited for";
    if (std::string(call) != operation->call) text += std::string(" in ") + call;
    note_wait(text);
  }
  return moves;
}

/// Whether a test may find nothing yet: until the first block that is computed meanwhile is over, or many of
/// its tiles are. What is read before the wait for it is then never there, whether or not the message has
/// come.
bool Overlap::may_be_under_way(const Operation& operation) const {
  return operation.is_awaited() && operation.computations == (computing_ ? 1 : 0);
}

/// Kept until it is known whether a computation follows, as the rest of one does that has paused.
void Overlap::note_wait(const std::string& text) {
  if (computing_) {
    waited_at_once_[std::ssize(computations_) - 1].add(text + " between two tiles of a block");
  } else {
    waited_at_once_[std::ssize(computations_)].add(text + " before the next block was computed");
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
  if (!delay_tests_ || !on_owner_thread()) return;
  for (const Waited& one : waited) {
    if (Operation* operation = open_.find(*one.request)) operation->tested = true;
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
    note_wait(operation->text() + " was waited for with one " + call + " after another");
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
  if (is_left_alone(operation)) journal_.note(fact_no_progress, lack_of(operation));
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
  for (const auto& [computations, texts] : waited_at_once_) {
    for (const std::string& text : texts.all()) {
      if (could_have_hidden(computations)) journal_.note(fact_waited_at_once, text);
    }
  }
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
