#include "mpi_layer/recorder.hpp"

using course::mpi_layer::check;
using course::mpi_layer::Kind;
using course::mpi_layer::Message;
using course::mpi_layer::Operation;
using course::mpi_layer::Recorder;
using course::mpi_layer::SendStarter;
using course::mpi_layer::watching;

namespace {

int init_send(Recorder& recorder, const Message& message, SendStarter init, MPI_Request* request) {
  Operation operation = recorder.prepare(Kind::Send, message);
  const void* buffer = recorder.guarded(operation, const_cast<void*>(message.buffer));
  check(init(buffer, message.count, message.type, message.peer, message.tag, message.comm, request),
        [&] { return operation.text(); });
  recorder.keep_persistent(std::move(operation), *request);
  return MPI_SUCCESS;
}

}  // namespace

int MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Send_init(buffer, count, type, dest, tag, comm, request);
  return init_send(*recorder, {"MPI_Send_init", buffer, count, type, dest, tag, comm},
                   recorder->options.synchronous_sends ? PMPI_Ssend_init : PMPI_Send_init, request);
}

int MPI_Ssend_init(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Ssend_init(buffer, count, type, dest, tag, comm, request);
  return init_send(*recorder, {"MPI_Ssend_init", buffer, count, type, dest, tag, comm}, PMPI_Ssend_init,
                   request);
}

int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Recv_init(buffer, count, type, source, tag, comm, request);
  const Message message{"MPI_Recv_init", buffer, count, type, source, tag, comm};
  Operation operation = recorder->prepare(Kind::Receive, message);
  void* target = recorder->guarded(operation, buffer);
  check(PMPI_Recv_init(target, count, type, source, tag, comm, request), [&] { return operation.text(); });
  recorder->keep_persistent(std::move(operation), *request);
  return MPI_SUCCESS;
}

int MPI_Start(MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Start(request);
  recorder->activate("MPI_Start", *request);
  check(PMPI_Start(request), [] { return "MPI_Start"; });
  return MPI_SUCCESS;
}

int MPI_Startall(int count, MPI_Request requests[]) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Startall(count, requests);
  for (int i = 0; i < count; ++i) recorder->activate("MPI_Startall", requests[i]);
  check(PMPI_Startall(count, requests), [] { return "MPI_Startall"; });
  return MPI_SUCCESS;
}
