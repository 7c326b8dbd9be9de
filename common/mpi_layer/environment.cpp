#include <cstdint>
#include <functional>
#include <stdexcept>
#include <type_traits>

#include "mpi_layer/recorder.hpp"

namespace course::mpi_layer {

namespace {

/// Whether a case is watched, in which MPI is neither begun nor ended.
bool is_ignored(const char* call) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return false;
  recorder->journal.note(
      {.kind = fact_lifecycle,
       .text = std::string(call) +
               " was called inside the exercise and ignored: MPI is already running, and " +
               "its caller ends it",
       .call = call});
  return true;
}

/// Of any handle of MPI's: a pointer in one library, a number in another.
template <class Handle>
std::uintptr_t number_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<std::uintptr_t>(handle);
  else
    return static_cast<std::uintptr_t>(handle);
}

/// Runs a collective among these members that makes a communicator, and takes that in at once: all ranks
/// number it alike. In Open MPI 4.1 and 5 none of them leaves it before all have agreed on what tells its
/// messages from others'.
int make_among(Recorder& recorder, const char* name, const std::shared_ptr<Communicator>& members,
               MPI_Comm* made, const std::function<int()>& call) {
  const bool takes_part = members->rank != MPI_UNDEFINED;
  const std::uint64_t awaited = takes_part ? members->bits_of_others([](int) { return true; }) : 0;
  const Operation operation = recorder.prepare_collective(name, members, 0, MPI_PROC_NULL, awaited);
  check(recorder.waiting.run_blocked({name}, operation, call), name);
  if (*made == MPI_COMM_NULL) return MPI_SUCCESS;
  recorder.enter_made(name, *made);
  recorder.note_made(communicator_handle, number_of(*made), name);
  return MPI_SUCCESS;
}

/// All members of `comm` make it.
template <auto Library, class... Arguments>
int make(const char* name, MPI_Comm* made, MPI_Comm comm, Arguments... arguments) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return Library(comm, arguments..., made);
  return make_among(*recorder, name, recorder->enter(name, comm), made,
                    [&] { return Library(comm, arguments..., made); });
}

/// Makes a group, a datatype or an operation, which ranks make each for themselves. Those that MPI has
/// predefined are not freed.
template <auto Library, class Handle, class... Arguments>
int make_alone(const char* name, const HandleKind& kind, Handle predefined, Handle* made,
               Arguments... arguments) {
  const int code = Library(arguments..., made);
  Recorder* recorder = watching();
  if (recorder != nullptr && code == MPI_SUCCESS && *made != predefined)
    recorder->note_made(kind, number_of(*made), name);
  return code;
}

template <auto Library, class Handle>
int free_alone(const HandleKind& kind, Handle* handle) {
  if (Recorder* recorder = watching()) recorder->note_freed(kind, number_of(*handle));
  return Library(handle);
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
  recorder->journal.note_and_throw<std::runtime_error>(
      {.kind = fact_lifecycle,
       .text = "MPI_Abort was called with code " + std::to_string(code),
       .call = __func__});
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

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_create_group(comm, group, tag, made);
  recorder->enter(__func__, comm);
  return make_among(*recorder, __func__, recorder->enter_group(__func__, group), made,
                    [&] { return PMPI_Comm_create_group(comm, group, tag, made); });
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder,
                    MPI_Comm* made) {
  return make<PMPI_Cart_create>(__func__, made, comm, dimensions, sizes, periods, reorder);
}

int MPI_Cart_sub(MPI_Comm comm, const int remaining[], MPI_Comm* made) {
  return make<PMPI_Cart_sub>(__func__, made, comm, remaining);
}

int MPI_Graph_create(MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
                     MPI_Comm* made) {
  return make<PMPI_Graph_create>(__func__, made, comm, nodes, index, edges, reorder);
}

int MPI_Dist_graph_create(MPI_Comm comm, int count, const int nodes[], const int degrees[],
                          const int targets[], const int weights[], MPI_Info info, int reorder,
                          MPI_Comm* made) {
  return make<PMPI_Dist_graph_create>(__func__, made, comm, count, nodes, degrees, targets, weights, info,
                                      reorder);
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int in_degree, const int sources[], const int in_weights[],
                                   int out_degree, const int targets[], const int out_weights[],
                                   MPI_Info info, int reorder, MPI_Comm* made) {
  return make<PMPI_Dist_graph_create_adjacent>(__func__, made, comm, in_degree, sources, in_weights,
                                               out_degree, targets, out_weights, info, reorder);
}

int MPI_Comm_free(MPI_Comm* comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Comm_free(comm);
  recorder->enter(__func__, *comm);
  recorder->forget(__func__, *comm);
  recorder->note_freed(communicator_handle, number_of(*comm));
  check(PMPI_Comm_free(comm), __func__);
  return MPI_SUCCESS;
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group* made) {
  return make_alone<PMPI_Comm_group>(__func__, group_handle, MPI_GROUP_EMPTY, made, comm);
}

int MPI_Group_incl(MPI_Group group, int count, const int ranks[], MPI_Group* made) {
  return make_alone<PMPI_Group_incl>(__func__, group_handle, MPI_GROUP_EMPTY, made, group, count, ranks);
}

int MPI_Group_excl(MPI_Group group, int count, const int ranks[], MPI_Group* made) {
  return make_alone<PMPI_Group_excl>(__func__, group_handle, MPI_GROUP_EMPTY, made, group, count, ranks);
}

int MPI_Group_free(MPI_Group* group) {
  return free_alone<PMPI_Group_free>(group_handle, group);
}

int MPI_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype* made) {
  return make_alone<PMPI_Type_contiguous>(__func__, datatype_handle, MPI_DATATYPE_NULL, made, count, type);
}

int MPI_Type_vector(int count, int length, int stride, MPI_Datatype type, MPI_Datatype* made) {
  return make_alone<PMPI_Type_vector>(__func__, datatype_handle, MPI_DATATYPE_NULL, made, count, length,
                                      stride, type);
}

int MPI_Type_create_struct(int count, const int lengths[], const MPI_Aint offsets[],
                           const MPI_Datatype types[], MPI_Datatype* made) {
  return make_alone<PMPI_Type_create_struct>(__func__, datatype_handle, MPI_DATATYPE_NULL, made, count,
                                             lengths, offsets, types);
}

int MPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype type, MPI_Datatype* made) {
  return make_alone<PMPI_Type_create_hvector>(__func__, datatype_handle, MPI_DATATYPE_NULL, made, count,
                                              length, stride, type);
}

int MPI_Type_create_subarray(int dimensions, const int sizes[], const int part[], const int starts[],
                             int order, MPI_Datatype type, MPI_Datatype* made) {
  return make_alone<PMPI_Type_create_subarray>(__func__, datatype_handle, MPI_DATATYPE_NULL, made, dimensions,
                                               sizes, part, starts, order, type);
}

int MPI_Type_create_resized(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent, MPI_Datatype* made) {
  return make_alone<PMPI_Type_create_resized>(__func__, datatype_handle, MPI_DATATYPE_NULL, made, type, lower,
                                              extent);
}

int MPI_Type_free(MPI_Datatype* type) {
  return free_alone<PMPI_Type_free>(datatype_handle, type);
}

int MPI_Op_create(MPI_User_function* function, int commutes, MPI_Op* made) {
  return make_alone<PMPI_Op_create>(__func__, operation_handle, MPI_OP_NULL, made, function, commutes);
}

int MPI_Op_free(MPI_Op* op) {
  return free_alone<PMPI_Op_free>(operation_handle, op);
}

}  // extern "C"

}  // namespace course::mpi_layer
