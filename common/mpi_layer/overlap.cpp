#include <algorithm>
#include <fstream>
#include <string>

#include "mpi_layer/recorder.hpp"

namespace course::mpi_layer {

namespace {

/// A message may be tested so often with nothing computed since its start or since the last tile, to set it
/// going. Who tests it once more waits for it.
constexpr int tests_until_waiting = 16;
/// After so many tiles of the first block that hides a message, a test finds it.
constexpr int tiles_until_due = 16;

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
  look_for_threads();
  computations_.push_back(!on_owner_thread());
  computing_ = true;
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
  }
}

void Overlap::end_computing() {
  const OpenRequests::Guard guard(open_.mutex);
  look_for_threads();
  computing_ = false;
}

void Overlap::look_for_threads() {
  if (!on_owner_thread()) other_threads_ = true;
  own_threads_ |= other_threads_ || threads_at_begin_ < 0 || threads_of_process() > threads_at_begin_;
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

void Overlap::see_call() {
  if (!on_owner_thread()) other_threads_ = true;
  if (computing_) ++calls_while_computing_;
}

void Overlap::note_start(Operation& operation) const {
  operation.calls_before = calls_while_computing_;
}

/// Whether next to nothing has been computed since the operation was started: no block, or of the first one a
/// tile.
bool Overlap::is_unhidden(const Operation& operation) const {
  if (!operation.is_awaited()) return false;
  return computing_ ? operation.computations == 1 && operation.tiles == 1 : operation.computations == 0;
}

void Overlap::look_at_wait(const char* call, const std::vector<Waited>& waited) {
  if (!on_owner_thread()) return;
  const OpenRequests::Guard guard(open_.mutex);
  for (const Waited& one : waited) {
    if (one.state != Waited::State::Open) continue;
    const Operation* operation = open_.find(*one.request);
    if (operation == nullptr || !(computing_ ? operation->is_awaited() : is_unhidden(*operation))) continue;
    std::string text = operation->text() + " was waited for";
    if (std::string(call) != operation->call) text += std::string(" in ") + call;
    note_wait(text);
  }
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

void Overlap::look_at_tests(const char* call, std::vector<Waited>& waited) {
  if (!delay_tests_ || !on_owner_thread()) return;
  const OpenRequests::Guard guard(open_.mutex);
  for (Waited& one : waited) {
    if (one.state != Waited::State::Open) continue;
    Operation* operation = open_.find(*one.request);
    if (operation == nullptr || !may_be_under_way(*operation)) continue;
    ++operation->early_tests;
    one.due = computing_ && operation->tiles == tiles_until_due && operation->early_tests == 1;
    one.delayed = operation->tiles < tiles_until_due && operation->early_tests <= tests_until_waiting;
    if (operation->early_tests != tests_until_waiting + 1 || !is_unhidden(*operation)) continue;
    note_wait(operation->text() + " was waited for with one " + call + " after another");
  }
}

void Overlap::look_back(const Operation& operation) {
  if (!operation.is_message() || operation.computations == 0) return;
  if (operation.calls_before != calls_while_computing_) return;
  unprogressed_.add(operation.text() +
                    " was under way while a block was computed, and nobody entered MPI meanwhile");
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
  look_for_threads();
  for (const auto& [computations, texts] : waited_at_once_) {
    for (const std::string& text : texts.all()) {
      if (could_have_hidden(computations)) journal_.note(fact_waited_at_once, text);
    }
  }
  for (const std::string& text : unprogressed_.all()) {
    if (!own_threads_) journal_.note(fact_no_progress, text);
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
