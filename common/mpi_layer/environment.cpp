#include <stdexcept>

#include "mpi_layer/recorder.hpp"

using course::mpi_layer::check;
using course::mpi_layer::Communicator;
using course::mpi_layer::fact_lifecycle;
using course::mpi_layer::Operation;
using course::mpi_layer::Recorder;
using course::mpi_layer::watching;

namespace {

void ignore(Recorder& recorder, const char* call) {
  recorder.journal.note(fact_lifecycle, std::string(call) +
                                            " was called inside the exercise and ignored: MPI is already " +
                                            "running, and its caller ends it");
}

/// Runs a collective that makes a communicator, and takes that in at once: all ranks number it alike.
template <class Call>
int make(Recorder& recorder, const char* name, MPI_Comm comm, MPI_Comm* made, const Call& call) {
  const std::shared_ptr<Communicator> communicator = recorder.enter(name, comm);
  const Operation operation = recorder.prepare_collective(name, communicator, 0, MPI_PROC_NULL);
  check(recorder.waiting.run_blocked({name}, operation, call), [&] { return name; });
  if (*made != MPI_COMM_NULL) recorder.enter(name, *made);
  return MPI_SUCCESS;
}

}  // namespace

int MPI_Init(int* argc, char*** argv) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Init(argc, argv);
  ignore(*recorder, "MPI_Init");
  return MPI_SUCCESS;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Init_thread(argc, argv, required, provided);
  ignore(*recorder, "MPI_Init_thread");
  return PMPI_Query_thread(provided);
}

int MPI_Finalize() {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Finalize();
  ignore(*recorder, "MPI_Finalize");
  return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm comm, int code) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Abort(comm, code);
  const std::string text = "MPI_Abort was called with code " + std::to_string(code);
  recorder->journal.note(fact_lifecycle, text);
  throw std::runtime_error(text);
}

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_rank(comm, rank);
  *rank = recorder->enter("MPI_Comm_rank", comm)->rank;
  return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int* size) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_size(comm, size);
  *size = recorder->enter("MPI_Comm_size", comm)->size;
  return MPI_SUCCESS;
}

/// Ignored: errors become exceptions here, whatever the caller prefers.
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_set_errhandler(comm, handler);
  recorder->enter("MPI_Comm_set_errhandler", comm);
  return MPI_SUCCESS;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_dup(comm, made);
  return make(*recorder, "MPI_Comm_dup", comm, made, [=] { return PMPI_Comm_dup(comm, made); });
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_dup_with_info(comm, info, made);
  return make(*recorder, "MPI_Comm_dup_with_info", comm, made,
              [=] { return PMPI_Comm_dup_with_info(comm, info, made); });
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_split(comm, color, key, made);
  return make(*recorder, "MPI_Comm_split", comm, made,
              [=] { return PMPI_Comm_split(comm, color, key, made); });
}

int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* made) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_split_type(comm, split_type, key, info, made);
  return make(*recorder, "MPI_Comm_split_type", comm, made,
              [=] { return PMPI_Comm_split_type(comm, split_type, key, info, made); });
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_create(comm, group, made);
  return make(*recorder, "MPI_Comm_create", comm, made, [=] { return PMPI_Comm_create(comm, group, made); });
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder,
                    MPI_Comm* made) {
  Recorder* recorder = watching();
  const auto call = [=] { return PMPI_Cart_create(comm, dimensions, sizes, periods, reorder, made); };
  if (recorder == nullptr) return call();
  return make(*recorder, "MPI_Cart_create", comm, made, call);
}

int MPI_Cart_sub(MPI_Comm comm, const int remaining[], MPI_Comm* made) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Cart_sub(comm, remaining, made);
  return make(*recorder, "MPI_Cart_sub", comm, made, [=] { return PMPI_Cart_sub(comm, remaining, made); });
}

int MPI_Comm_free(MPI_Comm* comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_free(comm);
  recorder->enter("MPI_Comm_free", *comm);
  recorder->check_may_free("MPI_Comm_free", *comm);
  recorder->forget(*comm);
  check(PMPI_Comm_free(comm), [] { return "MPI_Comm_free"; });
  return MPI_SUCCESS;
}
