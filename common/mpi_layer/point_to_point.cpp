#include <memory>
#include <utility>
#include <vector>

#include "mpi_layer/recorder.hpp"

namespace course::mpi_layer {

namespace {

/// A ready send must find its receive posted; one that waits for it instead is a send like any other.
/// Buffered sends keep their buffering: who asks for it by name does not rely on it by accident.
enum class Mode { Standard, Synchronous, Ready, Buffered };

void note_mode(Recorder& recorder, const char* call, Mode mode) {
  if (mode == Mode::Buffered)
    recorder.journal.note({.kind = fact_buffered_send,
                           .text = std::string(call) + " does not wait for its receive",
                           .call = call});
}

auto starter(Recorder& recorder, const char* call, Mode mode) {
  note_mode(recorder, call, mode);
  if (mode == Mode::Buffered) return PMPI_Ibsend;
  return mode == Mode::Synchronous || recorder.options.synchronous_sends ? PMPI_Issend : PMPI_Isend;
}

/// Calls MPI_Isend, MPI_Recv_init or the like with the message's arguments.
template <class Function>
int call(Function function, void* buffer, const Message& of, MPI_Request* request) {
  return function(buffer, of.count, of.type, of.peer, of.tag, of.comm, request);
}

template <class Starter>
MPI_Request start(Recorder& recorder, Operation operation, const Message& message, Starter starter) {
  void* buffer = recorder.guarded(operation, message.buffer);
  return recorder.start(std::move(operation),
                        [&](MPI_Request* request) { return call(starter, buffer, message, request); });
}

/// Starts a part of a blocking call, whose caller never sees the request.
template <class Starter>
MPI_Request start_internal(Recorder& recorder, Operation operation, const Message& message, Starter starter) {
  operation.internal = true;
  return start(recorder, std::move(operation), message, starter);
}

void wait(Recorder& recorder, const char* call, const std::string& directions, std::vector<Waited>& waited) {
  recorder.waiting.wait({call, Span::Kind::Transfer, call + directions}, waited, Need::All);
}

/// A blocking send is a nonblocking one that is waited for, so that the wait can be watched.
template <auto Library>
int send(const Message& message, Mode mode) {
  Recorder* recorder = watching();
  if (recorder == nullptr)
    return Library(message.buffer, message.count, message.type, message.peer, message.tag, message.comm);
  const auto by = starter(*recorder, message.call, mode);
  MPI_Request request = start_internal(*recorder, recorder->prepare(Kind::Send, message), message, by);
  std::vector<Waited> waited{{&request}};
  wait(*recorder, message.call, direction(Kind::Send, message.peer), waited);
  return MPI_SUCCESS;
}

template <auto Library>
int isend(const Message& message, Mode mode, MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return call(Library, const_cast<void*>(message.buffer), message, request);
  const auto by = starter(*recorder, message.call, mode);
  *request = start(*recorder, recorder->prepare(Kind::Send, message), message, by);
  return MPI_SUCCESS;
}

template <auto Library>
int init(Kind kind, const Message& message, Mode mode, MPI_Request* request) {
  Recorder* recorder = watching();
  void* const callers = const_cast<void*>(message.buffer);  // a receive's was given for writing
  if (recorder == nullptr) return call(Library, callers, message, request);
  note_mode(*recorder, message.call, mode);
  Operation operation = recorder->prepare(kind, message);
  void* const buffer = recorder->guarded(operation, callers);
  const bool synchronous =
      kind == Kind::Send && mode != Mode::Buffered && recorder->options.synchronous_sends;
  check(
      synchronous ? call(PMPI_Ssend_init, buffer, message, request) : call(Library, buffer, message, request),
      operation);
  recorder->keep_persistent(std::move(operation), *request);
  return MPI_SUCCESS;
}

/// Both ways at once, so that it cannot block itself. The peers are checked before either way is started. The
/// send keeps `copy`, if that is what it sends, for as long as the library may read it.
int exchange(Recorder& recorder, const Message& out, const Message& in, MPI_Status* status,
             std::shared_ptr<const std::vector<char>> copy = nullptr) {
  Operation sending = recorder.prepare(Kind::Send, out);
  sending.copy = std::move(copy);
  MPI_Request received = start_internal(recorder, recorder.prepare(Kind::Receive, in), in, PMPI_Irecv);
  MPI_Request sent =
      start_internal(recorder, std::move(sending), out, starter(recorder, out.call, Mode::Standard));
  std::vector<Waited> waited{{&sent}, {&received}};
  wait(recorder, out.call, direction(Kind::Send, out.peer) + direction(Kind::Receive, in.peer), waited);
  if (status != MPI_STATUS_IGNORE) *status = waited[1].status;
  return MPI_SUCCESS;
}

int receive(Recorder& recorder, const Message& message, MPI_Request request, MPI_Status* status) {
  std::vector<Waited> waited{{&request}};
  wait(recorder, message.call, direction(Kind::Receive, message.peer), waited);
  if (status != MPI_STATUS_IGNORE) *status = waited[0].status;
  return MPI_SUCCESS;
}

/// What one of MPI_Iprobe and MPI_Improbe has looked for, and `found` or not.
void note_probe(Recorder& recorder, const Operation& probe, bool found) {
  if (probe.may_be_looked_for()) {
    const OpenRequests::Guard guard(recorder.open.mutex);
    recorder.overlap.note_progress();
  }
  recorder.waiting.note_test(found, [&] { return recorder.waiting.pending_with(probe); });
}

/// Looks for a message and takes it out of the order of receives.
bool match(Recorder& recorder, const Operation& probe, const Message& wanted, MPI_Message* message,
           MPI_Status* status) {
  int found = 0;
  MPI_Status own{};
  check(PMPI_Improbe(wanted.peer, wanted.tag, wanted.comm, &found, message, &own), probe);
  if (found == 0) return false;
  recorder.keep_matched(*message, {own.MPI_SOURCE, own.MPI_TAG, wanted.comm});
  if (status != MPI_STATUS_IGNORE) *status = own;
  return true;
}

/// Receives the message whatever source, tag and communicator a receive would name.
auto receive_matched(MPI_Message* message) {
  return [message](void* buffer, int count, MPI_Datatype type, int, int, MPI_Comm, MPI_Request* request) {
    return PMPI_Imrecv(buffer, count, type, message, request);
  };
}

}  // namespace

extern "C" {

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return send<PMPI_Send>({__func__, buffer, count, type, dest, tag, comm}, Mode::Standard);
}

int MPI_Ssend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return send<PMPI_Ssend>({__func__, buffer, count, type, dest, tag, comm}, Mode::Synchronous);
}

int MPI_Rsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return send<PMPI_Rsend>({__func__, buffer, count, type, dest, tag, comm}, Mode::Ready);
}

int MPI_Bsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return send<PMPI_Bsend>({__func__, buffer, count, type, dest, tag, comm}, Mode::Buffered);
}

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return isend<PMPI_Isend>({__func__, buffer, count, type, dest, tag, comm}, Mode::Standard, request);
}

int MPI_Issend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return isend<PMPI_Issend>({__func__, buffer, count, type, dest, tag, comm}, Mode::Synchronous, request);
}

int MPI_Irsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return isend<PMPI_Irsend>({__func__, buffer, count, type, dest, tag, comm}, Mode::Ready, request);
}

int MPI_Ibsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return isend<PMPI_Ibsend>({__func__, buffer, count, type, dest, tag, comm}, Mode::Buffered, request);
}

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Recv(buffer, count, type, source, tag, comm, status);
  const Message message{__func__, buffer, count, type, source, tag, comm};
  MPI_Request request =
      start_internal(*recorder, recorder->prepare(Kind::Receive, message), message, PMPI_Irecv);
  return receive(*recorder, message, request, status);
}

int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Irecv(buffer, count, type, source, tag, comm, request);
  const Message message{__func__, buffer, count, type, source, tag, comm};
  *request = start(*recorder, recorder->prepare(Kind::Receive, message), message, PMPI_Irecv);
  return MPI_SUCCESS;
}

int MPI_Sendrecv(const void* send_buffer, int send_count, MPI_Datatype send_type, int dest, int send_tag,
                 void* receive_buffer, int receive_count, MPI_Datatype receive_type, int source,
                 int receive_tag, MPI_Comm comm, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) {
    return PMPI_Sendrecv(send_buffer, send_count, send_type, dest, send_tag, receive_buffer, receive_count,
                         receive_type, source, receive_tag, comm, status);
  }
  return exchange(*recorder, {__func__, send_buffer, send_count, send_type, dest, send_tag, comm},
                  {__func__, receive_buffer, receive_count, receive_type, source, receive_tag, comm}, status);
}

/// Sends a packed copy, so that what arrives may go where it came from.
int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int dest, int send_tag, int source,
                         int receive_tag, MPI_Comm comm, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr)
    return PMPI_Sendrecv_replace(buffer, count, type, dest, send_tag, source, receive_tag, comm, status);
  recorder->enter(__func__, comm);
  int room = 0;
  int packed = 0;
  check(PMPI_Pack_size(count, type, comm, &room), __func__);
  const auto copy = std::make_shared<std::vector<char>>(room);
  check(PMPI_Pack(buffer, count, type, copy->data(), room, &packed, comm), __func__);
  return exchange(*recorder, {__func__, copy->data(), packed, MPI_PACKED, dest, send_tag, comm},
                  {__func__, buffer, count, type, source, receive_tag, comm}, status, copy);
}

int MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return init<PMPI_Send_init>(Kind::Send, {__func__, buffer, count, type, dest, tag, comm}, Mode::Standard,
                              request);
}

int MPI_Ssend_init(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return init<PMPI_Ssend_init>(Kind::Send, {__func__, buffer, count, type, dest, tag, comm},
                               Mode::Synchronous, request);
}

int MPI_Rsend_init(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return init<PMPI_Rsend_init>(Kind::Send, {__func__, buffer, count, type, dest, tag, comm}, Mode::Ready,
                               request);
}

int MPI_Bsend_init(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return init<PMPI_Bsend_init>(Kind::Send, {__func__, buffer, count, type, dest, tag, comm}, Mode::Buffered,
                               request);
}

/// Waits until all that was sent from the buffer has left it.
int MPI_Buffer_detach(void* buffer, int* size) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Buffer_detach(buffer, size);
  const auto call = [&] { return PMPI_Buffer_detach(buffer, size); };
  check(recorder->waiting.run_blocked({__func__}, unknown_operation(__func__), call), __func__);
  return MPI_SUCCESS;
}

int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return init<PMPI_Recv_init>(Kind::Receive, {__func__, buffer, count, type, source, tag, comm},
                              Mode::Standard, request);
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Probe(source, tag, comm, status);
  const Operation probe =
      recorder->prepare(Kind::Receive, {__func__, nullptr, 0, MPI_BYTE, source, tag, comm});
  const std::string label = __func__ + direction(Kind::Receive, source);
  recorder->waiting.wait_for_message({__func__, Span::Kind::Wait, label}, probe, [&] {
    int found = 0;
    check(PMPI_Iprobe(source, tag, comm, &found, status), probe);
    return found != 0;
  });
  return MPI_SUCCESS;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Iprobe(source, tag, comm, flag, status);
  const Operation probe =
      recorder->prepare(Kind::Receive, {__func__, nullptr, 0, MPI_BYTE, source, tag, comm});
  check(PMPI_Iprobe(source, tag, comm, flag, status), probe);
  note_probe(*recorder, probe, *flag != 0);
  return MPI_SUCCESS;
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Mprobe(source, tag, comm, message, status);
  const Message wanted{__func__, nullptr, 0, MPI_BYTE, source, tag, comm};
  const Operation probe = recorder->prepare(Kind::Receive, wanted);
  const std::string label = __func__ + direction(Kind::Receive, source);
  recorder->waiting.wait_for_message({__func__, Span::Kind::Wait, label}, probe,
                                     [&] { return match(*recorder, probe, wanted, message, status); });
  return MPI_SUCCESS;
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Improbe(source, tag, comm, flag, message, status);
  const Message wanted{__func__, nullptr, 0, MPI_BYTE, source, tag, comm};
  const Operation probe = recorder->prepare(Kind::Receive, wanted);
  *flag = match(*recorder, probe, wanted, message, status) ? 1 : 0;
  note_probe(*recorder, probe, *flag != 0);
  return MPI_SUCCESS;
}

int MPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Mrecv(buffer, count, type, message, status);
  const auto [source, tag, comm] = recorder->take_matched(__func__, *message);
  const Message wanted{__func__, buffer, count, type, source, tag, comm};
  MPI_Request request =
      start_internal(*recorder, recorder->prepare(Kind::Receive, wanted), wanted, receive_matched(message));
  return receive(*recorder, wanted, request, status);
}

int MPI_Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Imrecv(buffer, count, type, message, request);
  const auto [source, tag, comm] = recorder->take_matched(__func__, *message);
  const Message wanted{__func__, buffer, count, type, source, tag, comm};
  *request = start(*recorder, recorder->prepare(Kind::Receive, wanted), wanted, receive_matched(message));
  return MPI_SUCCESS;
}

}  // extern "C"

}  // namespace course::mpi_layer
