#include "mpi_layer/recorder.hpp"

using course::PendingOperation;
using course::Span;
using course::mpi_layer::check;
using course::mpi_layer::direction;
using course::mpi_layer::Kind;
using course::mpi_layer::Need;
using course::mpi_layer::Operation;
using course::mpi_layer::Recorder;
using course::mpi_layer::watching;

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Probe(source, tag, comm, status);
  const Operation probe =
      recorder->prepare(Kind::Receive, {"MPI_Probe", nullptr, 0, MPI_BYTE, source, tag, comm});
  const std::string label = "MPI_Probe" + direction(Kind::Receive, source);
  recorder->waiting.wait_for_message({"MPI_Probe", Span::Kind::Wait, label}, probe, [&] {
    int found = 0;
    check(PMPI_Iprobe(source, tag, comm, &found, status), [&] { return probe.text(); });
    return found != 0;
  });
  return MPI_SUCCESS;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Iprobe(source, tag, comm, flag, status);
  const Operation probe =
      recorder->prepare(Kind::Receive, {"MPI_Iprobe", nullptr, 0, MPI_BYTE, source, tag, comm});
  check(PMPI_Iprobe(source, tag, comm, flag, status), [&] { return probe.text(); });
  recorder->waiting.note_test(*flag != 0, [&] { return recorder->waiting.pending_with(probe); });
  return MPI_SUCCESS;
}
