#include <stdexcept>

#include "mpi_layer/recorder.hpp"

namespace course::mpi_layer {

namespace {

/// Whether a case is watched, in which MPI is neither begun nor ended.
bool is_ignored(const char* call) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return false;
  recorder->journal.note(fact_lifecycle, std::string(call) +
                                             " was called inside the exercise and ignored: MPI is already " +
                                             "running, and its caller ends it");
  return true;
}

/// Runs a collective that makes a communicator, and takes that in at once: all ranks number it alike.
template <auto Library, class... Arguments>
int make(const char* name, MPI_Comm* made, MPI_Comm comm, Arguments... arguments) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return Library(comm, arguments..., made);
  const std::shared_ptr<Communicator> communicator = recorder->enter(name, comm);
  const Operation operation = recorder->prepare_collective(name, communicator, 0, MPI_PROC_NULL);
  const auto call = [&] { return Library(comm, arguments..., made); };
  check(recorder->waiting.run_blocked({name}, operation, call), name);
  if (*made != MPI_COMM_NULL) recorder->enter(name, *made);
  return MPI_SUCCESS;
}

}  // namespace

extern "C" {

int MPI_Init(int* argc, char*** argv) {
  return is_ignored(__func__) ? MPI_SUCCESS : PMPI_Init(argc, argv);
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return is_ignored(__func__) ? PMPI_Query_thread(provided)
                              : PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Finalize() {
  return is_ignored(__func__) ? MPI_SUCCESS : PMPI_Finalize();
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
  *rank = recorder->enter(__func__, comm)->rank;
  return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int* size) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_size(comm, size);
  *size = recorder->enter(__func__, comm)->size;
  return MPI_SUCCESS;
}

/// Ignored: errors become exceptions here, whatever the caller prefers.
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_set_errhandler(comm, handler);
  recorder->enter(__func__, comm);
  return MPI_SUCCESS;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  return make<PMPI_Comm_dup>(__func__, made, comm);
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
  return make<PMPI_Comm_dup_with_info>(__func__, made, comm, info);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  return make<PMPI_Comm_split>(__func__, made, comm, color, key);
}

int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* made) {
  return make<PMPI_Comm_split_type>(__func__, made, comm, split_type, key, info);
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  return make<PMPI_Comm_create>(__func__, made, comm, group);
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder,
                    MPI_Comm* made) {
  return make<PMPI_Cart_create>(__func__, made, comm, dimensions, sizes, periods, reorder);
}

int MPI_Cart_sub(MPI_Comm comm, const int remaining[], MPI_Comm* made) {
  return make<PMPI_Cart_sub>(__func__, made, comm, remaining);
}

int MPI_Comm_free(MPI_Comm* comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_free(comm);
  recorder->enter(__func__, *comm);
  recorder->forget(__func__, *comm);
  check(PMPI_Comm_free(comm), __func__);
  return MPI_SUCCESS;
}

}  // extern "C"

}  // namespace course::mpi_layer
