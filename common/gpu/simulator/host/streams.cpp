#include "gpu/simulator/host/streams.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/simulator/findings/findings.hpp"
#include "gpu/simulator/findings/source_lines.hpp"
#include "gpu/simulator/host/model_time.hpp"
#include "gpu/simulator/memory/memory.hpp"
#include "gpu/simulator/memory/races.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu {

struct Queued {
  OperationNumber number;
  std::unique_ptr<Operation> operation;
  std::vector<OperationNumber> after;  ///< of other streams
};

class Stream {
 public:
  Stream(unsigned timeline_, bool blocking_, int made_on_line_)
      : timeline(timeline_), blocking(blocking_), made_on_line(made_on_line_) {}

  unsigned timeline;
  bool blocking;  ///< joins with the legacy stream
  int made_on_line;
  std::uint32_t count = 0;
  OperationNumber last = 0;
  Clock clock = {};  ///< behind the last operation
  std::deque<Queued> queue = {};
};

/// As it was recorded last; 0: never.
class Event {
 public:
  OperationNumber recorded = 0;
  int made_on_line = 0;
};

namespace {

constexpr unsigned default_streams = 2;  ///< the legacy one, and that of cudaStreamPerThread

struct Streams {
  std::vector<std::unique_ptr<Stream>>
      all;  ///< of timelines 1, 2, ...; destroyed ones stay, for their operations
  std::vector<Stream*> alive;
  std::vector<std::unique_ptr<Event>> events;
  Clock host;
  std::uint32_t host_count = 0;
  OperationNumber host_segment = 0;
  OperationNumber waited_for = 0;
  Waiter waiter;
  std::set<const void*> not_ready;  ///< what the host has asked for since it last put something in
  std::vector<std::string> ranges;
  std::int64_t device_peak_of_ranges = -1;
  std::minstd_rand drawn;
};
Streams streams;

Stream& add_stream(bool blocking, int line) {
  const auto timeline = static_cast<unsigned>(streams.all.size()) + 1;
  streams.all.push_back(std::make_unique<Stream>(timeline, blocking, line));
  streams.alive.push_back(streams.all.back().get());
  return *streams.all.back();
}

Stream& legacy() {
  return *streams.all[0];
}

Stream* found(Stream* handle) {
  if (handle == nullptr) return &legacy();
  return std::ranges::count(streams.alive, handle) > 0 ? handle : nullptr;
}

Event* found(Event* handle) {
  const auto at = std::ranges::find(streams.events, handle, &std::unique_ptr<Event>::get);
  return at == streams.events.end() ? nullptr : at->get();
}

bool is_done(OperationNumber number) {
  return number == 0 || record_of(number).is_done;
}

/// An operation of `stream` waits for the last one of `other`.
void wait_for(const Stream& other, Queued& queued, Clock& clock) {
  clock.join(other.clock);
  if (!is_done(other.last)) queued.after.push_back(other.last);
}

/// The legacy stream and the blocking ones wait for each other.
void join_legacy(const Stream& stream, Queued& queued, Clock& clock) {
  if (&stream != &legacy()) {
    if (stream.blocking) wait_for(legacy(), queued, clock);
    return;
  }
  for (const auto& other : streams.all)
    if (other->blocking && other.get() != &stream) wait_for(*other, queued, clock);
}

bool is_ready(const Stream& stream) {
  return !stream.queue.empty() && std::ranges::all_of(stream.queue.front().after, is_done);
}

/// What is accessed meanwhile is this operation's.
class RunningOperation {
 public:
  explicit RunningOperation(OperationNumber number) : before_(now) {
    now.clock = &record_of(number).clock;
    now.surely_before = 0;
    now.access = {.operation = number};
  }
  ~RunningOperation() { now = before_; }
  RunningOperation(const RunningOperation&) = delete;
  RunningOperation& operator=(const RunningOperation&) = delete;

 private:
  Now before_;
};

/// Carries out the first operation of a stream, unless the device is broken: then it is dropped. Returns
/// whether it is done with.
bool carry_out_first(Stream& stream) {
  Queued queued = std::move(stream.queue.front());
  stream.queue.pop_front();
  bool& done = record_of(queued.number).is_done;
  done = true;  // whatever it throws
  begin_in_model(queued.number);
  const RunningOperation running(queued.number);
  if (broken() == Error::Success && queued.operation && !queued.operation->carry_out()) {
    done = false;
    stream.queue.push_front(std::move(queued));
  }
  return done;
}

/// One operation of a drawn stream; false: none is ready, or each waits for something outside.
bool step() {
  std::vector<Stream*> ready;
  for (const auto& stream : streams.all)
    if (is_ready(*stream)) ready.push_back(stream.get());
  std::ranges::shuffle(ready, streams.drawn);
  return std::ranges::any_of(ready, [](Stream* stream) { return carry_out_first(*stream); });
}

/// The device works on beside the host: nobody knows how far it is.
void run_a_while() {
  while (streams.drawn() % 2 == 0 && step()) {
  }
}

/// What the host's code does next is ordered differently from what it did.
void end_host_segment() {
  if (streams.host_segment != 0) streams.host.advance(host_timeline, ++streams.host_count);
  streams.host_segment = 0;
}

OperationNumber enqueue(Stream& stream, OperationRecord record, Queued queued, Clock clock) {
  end_host_segment();
  clock.join(streams.host);
  clock.join(stream.clock);
  join_legacy(stream, queued, clock);
  clock.advance(stream.timeline, ++stream.count);
  if (!streams.ranges.empty()) record.range = streams.ranges.back();
  record.timeline = stream.timeline;
  record.index = stream.count;
  record.clock = stream.clock = std::move(clock);
  queued.number = stream.last = add_record(std::move(record));
  streams.not_ready.clear();
  const OperationNumber number = queued.number;
  stream.queue.push_back(std::move(queued));
  run_a_while();
  return number;
}

void host_knows_all_of(const Stream& stream) {
  end_host_segment();
  streams.host.join(stream.clock);
}

/// The host asks whether something is done. One that asks again, and has put in nothing since, waits for it.
bool asks(const void* handle, OperationNumber number, const char* call, int line) {
  if (streams.not_ready.erase(handle) > 0) note_host_wait(call, line);
  run_a_while();
  if (!is_done(number)) streams.not_ready.insert(handle);
  return is_done(number);
}

/// A launch within a name that has ended, of which nobody asked whether it was refused.
void note_launch_not_asked_about(const std::string& range) {
  const std::string launch = accepted_launch();
  if (launch.empty() || std::uncaught_exceptions() > 0) return;
  note({.kind = fact_unasked_launch,
        .text = launch + ", within " + range + ": nobody asks whether it was refused (cudaGetLastError)",
        .within = range});
}

}  // namespace

Stream* per_thread_stream() {
  return streams.all[1].get();
}

OperationNumber enqueue(Stream* handle, OperationRecord record, std::unique_ptr<Operation> operation) {
  Stream* const stream = found(handle);
  if (!stream) {
    failed(Error::InvalidResourceHandle);
    return 0;
  }
  return enqueue(*stream, std::move(record), {0, std::move(operation), {}}, {});
}

void run_until_done(OperationNumber number) {
  const auto carry_on = [number] {
    while (!is_done(number) && step()) {
    }
    return is_done(number);
  };
  if (carry_on()) return;
  const OperationNumber before = std::exchange(streams.waited_for, number);
  wait_outside(carry_on);
  streams.waited_for = before;
}

void run_what_can() {
  while (step()) {
  }
}

void wait_outside_with(Waiter waiter) {
  streams.waiter = std::move(waiter);
}

void wait_outside(const std::function<bool()>& done) {
  if (streams.waiter) return streams.waiter(done);
  while (!done()) std::this_thread::yield();
}

OperationNumber host_waits_for() {
  return streams.waited_for;
}

void host_knows(OperationNumber number) {
  if (number == 0) return;
  end_host_segment();
  streams.host.join(record_of(number).clock);
}

void run_all() {
  for (const auto& stream : streams.all) run_until_done(stream->last);
}

void note_device_wide_wait(const char* call, int line) {
  const auto may_be_busy = [](const auto& stream) {
    return streams.host.of(stream->timeline) < stream->count;
  };
  if (std::ranges::none_of(streams.all, may_be_busy)) return;
  const std::string range = streams.ranges.empty() ? "" : streams.ranges.front();
  note({.kind = fact_device_wide_wait,
        .text = std::string(call) + " on " + line_text(line) +
                (range.empty() ? "" : ", within " + range + ",") +
                " may wait until all streams of the device are idle",
        .call = call,
        .at = call_place(line),
        .within = range});
}

void note_host_wait(const char* call, int line) {
  if (streams.ranges.empty()) return;
  const std::string& range = streams.ranges.front();
  note({.kind = fact_host_wait,
        .text = std::string(call) + " on " + line_text(line) + ", within " + range + ", holds the host up",
        .call = call,
        .at = call_place(line),
        .within = range});
}

bool is_stream(Stream* handle) {
  return found(handle) != nullptr;
}

Error create_stream(Stream** stream, bool blocking, int line) {
  if (broken() != Error::Success) return broken();
  *stream = &add_stream(blocking, line);
  return Error::Success;
}

Error destroy_stream(Stream* stream) {
  if (broken() != Error::Success) return broken();
  return std::erase(streams.alive, stream) > 0 ? Error::Success : failed(Error::InvalidResourceHandle);
}

Error synchronize_stream(Stream* handle, int line) {
  Stream* const stream = found(handle);
  if (!stream) return failed(Error::InvalidResourceHandle);
  note_host_wait("cudaStreamSynchronize", line);
  run_until_done(stream->last);
  host_knows_all_of(*stream);
  return broken();
}

Error query_stream(Stream* handle, int line) {
  Stream* const stream = found(handle);
  if (!stream) return failed(Error::InvalidResourceHandle);
  if (!asks(stream, stream->last, "cudaStreamQuery", line)) return Error::NotReady;
  host_knows_all_of(*stream);
  return broken();
}

Error wait_for_event(Stream* handle, Event* event, int line) {
  Stream* const stream = found(handle);
  if (!stream || !found(event)) return failed(Error::InvalidResourceHandle);
  if (event->recorded == 0) {
    note({.kind = fact_unrecorded_event,
          .text = "cudaStreamWaitEvent on " + line_text(line) +
                  " waits for an event that has not been recorded yet: it waits for nothing",
          .call = "cudaStreamWaitEvent",
          .at = call_place(line)});
    return broken();
  }
  enqueue(*stream, {.name = "cudaStreamWaitEvent", .line = line}, {0, nullptr, {event->recorded}},
          record_of(event->recorded).clock);
  return broken();
}

Error create_event(Event** event, int line) {
  if (broken() != Error::Success) return broken();
  streams.events.push_back(std::make_unique<Event>());
  *event = streams.events.back().get();
  (*event)->made_on_line = line;
  return Error::Success;
}

Error destroy_event(Event* event) {
  const auto is_it = [&](const auto& one) { return one.get() == event; };
  return std::erase_if(streams.events, is_it) > 0 ? broken() : failed(Error::InvalidResourceHandle);
}

Error record_event(Event* event, Stream* stream, int line) {
  if (!found(event)) return failed(Error::InvalidResourceHandle);
  const OperationNumber number = enqueue(stream, {.name = "cudaEventRecord", .line = line}, nullptr);
  if (number == 0) return Error::InvalidResourceHandle;
  event->recorded = number;
  return broken();
}

Error synchronize_event(Event* event, int line) {
  if (!found(event)) return failed(Error::InvalidResourceHandle);
  note_host_wait("cudaEventSynchronize", line);
  run_until_done(event->recorded);
  host_knows(event->recorded);
  return broken();
}

Error query_event(Event* event, int line) {
  if (!found(event)) return failed(Error::InvalidResourceHandle);
  if (!asks(event, event->recorded, "cudaEventQuery", line)) return Error::NotReady;
  host_knows(event->recorded);
  return broken();
}

Error synchronize_device(int line) {
  note_device_wide_wait("cudaDeviceSynchronize", line);
  run_all();
  for (const auto& stream : streams.all) host_knows_all_of(*stream);
  return broken();
}

const Clock& host_clock() {
  return streams.host;
}

OperationNumber host_operation() {
  if (streams.host_segment == 0)
    streams.host_segment =
        add_record({.name = "", .index = streams.host_count + 1, .clock = streams.host, .is_done = true});
  return streams.host_segment;
}

int begin_range(const char* name) {
  if (streams.ranges.empty()) {
    begin_device_peak();
    forget_accepted_launch();
  }
  streams.ranges.emplace_back(name);
  return static_cast<int>(streams.ranges.size()) - 1;
}

int end_range() {
  if (streams.ranges.empty()) return -1;
  if (streams.ranges.size() == 1) note_launch_not_asked_about(streams.ranges.front());
  streams.ranges.pop_back();
  if (streams.ranges.empty())
    streams.device_peak_of_ranges =
        std::max(streams.device_peak_of_ranges, static_cast<std::int64_t>(device_peak()));
  return static_cast<int>(streams.ranges.size());
}

std::int64_t device_peak_of_ranges() {
  return streams.device_peak_of_ranges;
}

std::vector<std::uint64_t> drawn_order(std::uint64_t count) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, streams.drawn);
  return order;
}

std::uint32_t drawn_number() {
  return static_cast<std::uint32_t>(streams.drawn());
}

std::vector<std::string> handles_left() {
  std::vector<std::string> left;
  for (const Stream* stream : streams.alive) {
    if (stream->timeline > default_streams)
      left.push_back("the stream that was made on " + line_text(stream->made_on_line));
  }
  for (const auto& event : streams.events)
    left.push_back("the event that was made on " + line_text(event->made_on_line));
  return left;
}

void reset_streams(std::uint64_t seed) {
  streams = {};
  streams.drawn.seed(static_cast<std::minstd_rand::result_type>(seed));
  for (unsigned i = 0; i < default_streams; ++i) add_stream(true, 0);
}

}  // namespace course::gpu
