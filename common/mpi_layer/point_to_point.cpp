#include <memory>
#include <utility>
#include <vector>

#include "mpi_layer/recorder.hpp"

using course::Span;
using course::mpi_layer::CallLabel;
using course::mpi_layer::check;
using course::mpi_layer::direction;
using course::mpi_layer::Kind;
using course::mpi_layer::Message;
using course::mpi_layer::Need;
using course::mpi_layer::Operation;
using course::mpi_layer::Recorder;
using course::mpi_layer::SendStarter;
using course::mpi_layer::Waited;
using course::mpi_layer::watching;

namespace {

CallLabel transfer(const Recorder& recorder, const char* call, const std::string& directions) {
  return {call, Span::Kind::Transfer, recorder.options.record_spans ? call + directions : std::string()};
}

MPI_Request start_send(Recorder& recorder, Operation operation, const Message& message, SendStarter starter) {
  const void* buffer = recorder.guarded(operation, const_cast<void*>(message.buffer));
  return recorder.start(std::move(operation), [&](MPI_Request* request) {
    return starter(buffer, message.count, message.type, message.peer, message.tag, message.comm, request);
  });
}

/// `buffer` is the message's, for writing.
MPI_Request start_receive(Recorder& recorder, const Message& message, void* buffer, bool internal) {
  Operation operation = recorder.prepare(Kind::Receive, message);
  operation.internal = internal;
  void* target = recorder.guarded(operation, buffer);
  return recorder.start(std::move(operation), [&](MPI_Request* request) {
    return PMPI_Irecv(target, message.count, message.type, message.peer, message.tag, message.comm, request);
  });
}

SendStarter standard_send(const Recorder& recorder) {
  return recorder.options.synchronous_sends ? PMPI_Issend : PMPI_Isend;
}

/// A blocking send is a nonblocking one that is waited for, so that the wait can be watched.
int send(Recorder& recorder, const Message& message, SendStarter starter) {
  Operation operation = recorder.prepare(Kind::Send, message);
  operation.internal = true;
  MPI_Request request = start_send(recorder, std::move(operation), message, starter);
  std::vector<Waited> waited{{&request}};
  recorder.waiting.wait(transfer(recorder, message.call, direction(Kind::Send, message.peer)), waited,
                        Need::All);
  return MPI_SUCCESS;
}

int receive(Recorder& recorder, const Message& message, void* buffer, MPI_Status* status) {
  MPI_Request request = start_receive(recorder, message, buffer, true);
  std::vector<Waited> waited{{&request}};
  recorder.waiting.wait(transfer(recorder, message.call, direction(Kind::Receive, message.peer)), waited,
                        Need::All);
  if (status != MPI_STATUS_IGNORE) *status = waited[0].status;
  return MPI_SUCCESS;
}

/// Both ways at once, so that it cannot block itself. The peers are checked before either way is started. The
/// send keeps `copy`, if that is what it sends, for as long as the library may read it.
int exchange(Recorder& recorder, const Message& out, const Message& in, void* in_buffer, MPI_Status* status,
             std::shared_ptr<const std::vector<char>> copy = nullptr) {
  Operation sending = recorder.prepare(Kind::Send, out);
  sending.internal = true;
  sending.copy = std::move(copy);
  MPI_Request received = start_receive(recorder, in, in_buffer, true);
  MPI_Request sent = start_send(recorder, std::move(sending), out, standard_send(recorder));
  std::vector<Waited> waited{{&sent}, {&received}};
  const std::string directions = direction(Kind::Send, out.peer) + direction(Kind::Receive, in.peer);
  recorder.waiting.wait(transfer(recorder, out.call, directions), waited, Need::All);
  if (status != MPI_STATUS_IGNORE) *status = waited[1].status;
  return MPI_SUCCESS;
}

/// Starts a send for a caller who keeps the request.
int isend(Recorder& recorder, const Message& message, SendStarter starter, MPI_Request* request) {
  *request = start_send(recorder, recorder.prepare(Kind::Send, message), message, starter);
  return MPI_SUCCESS;
}

}  // namespace

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Send(buffer, count, type, dest, tag, comm);
  return send(*recorder, {"MPI_Send", buffer, count, type, dest, tag, comm}, standard_send(*recorder));
}

int MPI_Ssend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Ssend(buffer, count, type, dest, tag, comm);
  return send(*recorder, {"MPI_Ssend", buffer, count, type, dest, tag, comm}, PMPI_Issend);
}

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Isend(buffer, count, type, dest, tag, comm, request);
  return isend(*recorder, {"MPI_Isend", buffer, count, type, dest, tag, comm}, standard_send(*recorder),
               request);
}

int MPI_Issend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Issend(buffer, count, type, dest, tag, comm, request);
  return isend(*recorder, {"MPI_Issend", buffer, count, type, dest, tag, comm}, PMPI_Issend, request);
}

/// A ready send must find its receive posted; one that waits for it instead is a send like any other.
int MPI_Rsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Rsend(buffer, count, type, dest, tag, comm);
  recorder->journal.note_uncommon("MPI_Rsend");
  return send(*recorder, {"MPI_Rsend", buffer, count, type, dest, tag, comm}, standard_send(*recorder));
}

int MPI_Irsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Irsend(buffer, count, type, dest, tag, comm, request);
  recorder->journal.note_uncommon("MPI_Irsend");
  return isend(*recorder, {"MPI_Irsend", buffer, count, type, dest, tag, comm}, standard_send(*recorder),
               request);
}

/// Buffered sends keep their buffering: who asks for it by name does not rely on it by accident.
int MPI_Bsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Bsend(buffer, count, type, dest, tag, comm);
  recorder->journal.note_uncommon("MPI_Bsend");
  return send(*recorder, {"MPI_Bsend", buffer, count, type, dest, tag, comm}, PMPI_Ibsend);
}

int MPI_Ibsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Ibsend(buffer, count, type, dest, tag, comm, request);
  recorder->journal.note_uncommon("MPI_Ibsend");
  return isend(*recorder, {"MPI_Ibsend", buffer, count, type, dest, tag, comm}, PMPI_Ibsend, request);
}

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Recv(buffer, count, type, source, tag, comm, status);
  return receive(*recorder, {"MPI_Recv", buffer, count, type, source, tag, comm}, buffer, status);
}

int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Irecv(buffer, count, type, source, tag, comm, request);
  *request = start_receive(*recorder, {"MPI_Irecv", buffer, count, type, source, tag, comm}, buffer, false);
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
  const Message out{"MPI_Sendrecv", send_buffer, send_count, send_type, dest, send_tag, comm};
  const Message in{"MPI_Sendrecv", receive_buffer, receive_count, receive_type, source, receive_tag, comm};
  return exchange(*recorder, out, in, receive_buffer, status);
}

/// Sends a packed copy, so that what arrives may go where it came from.
int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int dest, int send_tag, int source,
                         int receive_tag, MPI_Comm comm, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) {
    return PMPI_Sendrecv_replace(buffer, count, type, dest, send_tag, source, receive_tag, comm, status);
  }
  const char* call = "MPI_Sendrecv_replace";
  const auto context = [&] { return std::string(call); };
  recorder->enter(call, comm);
  int room = 0;
  int packed = 0;
  check(PMPI_Pack_size(count, type, comm, &room), context);
  const auto copy = std::make_shared<std::vector<char>>(room);
  check(PMPI_Pack(buffer, count, type, copy->data(), room, &packed, comm), context);
  const Message out{call, copy->data(), packed, MPI_PACKED, dest, send_tag, comm};
  const Message in{call, buffer, count, type, source, receive_tag, comm};
  return exchange(*recorder, out, in, buffer, status, copy);
}
