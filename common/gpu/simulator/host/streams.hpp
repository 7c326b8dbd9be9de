#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/simulator/host/errors.hpp"
#include "gpu/simulator/host/operations.hpp"

/// Streams and events: what a call of the host's puts into a stream is carried out later, at a drawn moment
/// at which all that it has to wait for has been. Source: CUDA Programming Guide 13, asynchronous execution;
/// Runtime API 13, stream synchronization behavior.
namespace course::gpu {

/// An operation in a stream, such as a kernel, a copy, or one rank's side of a message.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Carries the operation out and returns true. Or, where something outside this process has to come first,
  /// such as another rank's receive, goes as far as it can without waiting and returns false: it is called
  /// again, between the operations of other streams, until it returns true. What it does to device memory it
  /// tells touch() of accesses.hpp.
  virtual bool carry_out() = 0;
};

/// cudaStream_t and cudaEvent_t point to them; nullptr is the legacy default stream.
class Stream;
class Event;
Stream* per_thread_stream();  ///< that of the host's thread: it joins with the legacy stream as others do

/// Puts an operation at a stream's end; `record` has its name, its line and a kernel's extents.
/// @return its number; 0, and the error is noted, where there is no such stream
OperationNumber enqueue(Stream* stream, OperationRecord record, std::unique_ptr<Operation> operation);
/// Carries operations out, in a drawn order, until this one is done.
void run_until_done(OperationNumber number);
/// The host has waited for the operation: what it does from now on is ordered behind it.
void host_knows(OperationNumber number);
/// Carries out all there are, whatever the host waits for.
void run_all();
/// Carries out what needs nothing from outside: the device works beside the host, which waits for something
/// else.
void run_what_can();

/// How the host waits for what comes from outside this process: until done(), which carries on with what it
/// can, says that it is over. Without one, it only asks again and again. Of this case.
using Waiter = std::function<void(const std::function<bool()>& done)>;
void wait_outside_with(Waiter waiter);
void wait_outside(const std::function<bool()>& done);
/// The operation that the host waits for; 0: none.
OperationNumber host_waits_for();

/// Notes a call that holds the host or the device up until all streams are idle, if any may be busy. Where
/// the documentation does not promise it, it orders nothing.
void note_device_wide_wait(const char* call, int line);

/// Notes a call within a range of the host's code that waits for a stream or an event, or asks again and
/// again.
void note_host_wait(const char* call, int line);

/// Whether the handle is one of a stream that has not been destroyed.
bool is_stream(Stream* handle);
Error create_stream(Stream** stream, bool blocking, int line);
Error destroy_stream(Stream* stream);
Error synchronize_stream(Stream* stream, int line);
Error query_stream(Stream* stream, int line);
Error wait_for_event(Stream* stream, Event* event, int line);
Error create_event(Event** event, int line);
Error destroy_event(Event* event);
Error record_event(Event* event, Stream* stream, int line);
Error synchronize_event(Event* event, int line);
Error query_event(Event* event, int line);
/// Those that were made and not destroyed: "the stream that was made on line 5".
std::vector<std::string> handles_left();
Error synchronize_device(int line);

/// What the host has seen complete, and where it stands itself.
const Clock& host_clock();
/// The number that stands for what the host's code does between two calls.
OperationNumber host_operation();

/// A range of the host's code, by name, within the one that it is in. Returns how many it is in.
int begin_range(const char* name);
/// Ends the innermost; returns how many it was in.
int end_range();
/// The most device memory that was in use at once in a range, beyond what was before it: of all ranges that
/// have ended, bytes; -1: there was none.
std::int64_t device_peak_of_ranges();

/// Numbers from 0 to below `count` in an order drawn from the case's seed.
std::vector<std::uint64_t> drawn_order(std::uint64_t count);
/// Drawn from it, too.
std::uint32_t drawn_number();

void reset_streams(std::uint64_t seed);

}  // namespace course::gpu
