#include <stdexcept>
#include <type_traits>

#include "mpi_layer/recorder.hpp"

/// Calls that the course does not use, whose bytes nobody counts: named in a fact, and passed on or refused.
/// While a blocking one waits, the page says its name and that it may be met by anything.

namespace course::mpi_layer {

namespace {

/// A request that such a call has started may be the handle of one that is over.
template <class Argument>
void forget_ended(Recorder& recorder, const Argument& argument) {
  if constexpr (std::is_same_v<Argument, MPI_Request*>) {
    const OpenRequests::Guard guard(recorder.open.mutex);
    recorder.open.forget_ended(*argument);
  }
}

Fact uncommon(const char* call) {
  return {.kind = fact_uncommon_call,
          .text = std::string(call) + ", which this course does not use",
          .call = call};
}

template <auto Library, class... Arguments>
int pass_on(const char* name, Arguments... arguments) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return Library(arguments...);
  recorder->journal.note(uncommon(name));
  const auto call = [&] { return Library(arguments...); };
  check(recorder->waiting.run_blocked({name}, unknown_operation(name), call), name);
  (forget_ended(*recorder, arguments), ...);
  return MPI_SUCCESS;
}

/// Where the library cannot do it either, as it may not be able to share memory, what is said is the course's
/// rule.
template <auto Library, class... Arguments>
int refuse(const char* name, Arguments... arguments) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return Library(arguments...);
  recorder->journal.note_and_throw<std::runtime_error>(uncommon(name));
}

}  // namespace

extern "C" {

int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  return refuse<PMPI_Win_create>(__func__, base, size, unit, info, comm, window);
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
  return refuse<PMPI_Win_allocate>(__func__, size, unit, info, comm, base, window);
}

int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* window) {
  return refuse<PMPI_Win_allocate_shared>(__func__, size, unit, info, comm, base, window);
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  return refuse<PMPI_Win_create_dynamic>(__func__, info, comm, window);
}

int MPI_Win_fence(int assertion, MPI_Win window) {
  return refuse<PMPI_Win_fence>(__func__, assertion, window);
}

int MPI_Alltoallw(const void* out, const int out_counts[], const int out_offsets[],
                  const MPI_Datatype out_types[], void* in, const int in_counts[], const int in_offsets[],
                  const MPI_Datatype in_types[], MPI_Comm comm) {
  return pass_on<PMPI_Alltoallw>(__func__, out, out_counts, out_offsets, out_types, in, in_counts, in_offsets,
                                 in_types, comm);
}

int MPI_Ialltoallw(const void* out, const int out_counts[], const int out_offsets[],
                   const MPI_Datatype out_types[], void* in, const int in_counts[], const int in_offsets[],
                   const MPI_Datatype in_types[], MPI_Comm comm, MPI_Request* request) {
  return pass_on<PMPI_Ialltoallw>(__func__, out, out_counts, out_offsets, out_types, in, in_counts,
                                  in_offsets, in_types, comm, request);
}

int MPI_Neighbor_allgather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                           MPI_Datatype in_type, MPI_Comm comm) {
  return pass_on<PMPI_Neighbor_allgather>(__func__, out, out_count, out_type, in, in_count, in_type, comm);
}

int MPI_Ineighbor_allgather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                            MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  return pass_on<PMPI_Ineighbor_allgather>(__func__, out, out_count, out_type, in, in_count, in_type, comm,
                                           request);
}

int MPI_Neighbor_allgatherv(const void* out, int out_count, MPI_Datatype out_type, void* in,
                            const int in_counts[], const int offsets[], MPI_Datatype in_type, MPI_Comm comm) {
  return pass_on<PMPI_Neighbor_allgatherv>(__func__, out, out_count, out_type, in, in_counts, offsets,
                                           in_type, comm);
}

int MPI_Ineighbor_allgatherv(const void* out, int out_count, MPI_Datatype out_type, void* in,
                             const int in_counts[], const int offsets[], MPI_Datatype in_type, MPI_Comm comm,
                             MPI_Request* request) {
  return pass_on<PMPI_Ineighbor_allgatherv>(__func__, out, out_count, out_type, in, in_counts, offsets,
                                            in_type, comm, request);
}

int MPI_Neighbor_alltoall(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                          MPI_Datatype in_type, MPI_Comm comm) {
  return pass_on<PMPI_Neighbor_alltoall>(__func__, out, out_count, out_type, in, in_count, in_type, comm);
}

int MPI_Ineighbor_alltoall(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                           MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  return pass_on<PMPI_Ineighbor_alltoall>(__func__, out, out_count, out_type, in, in_count, in_type, comm,
                                          request);
}

int MPI_Neighbor_alltoallv(const void* out, const int out_counts[], const int out_offsets[],
                           MPI_Datatype out_type, void* in, const int in_counts[], const int in_offsets[],
                           MPI_Datatype in_type, MPI_Comm comm) {
  return pass_on<PMPI_Neighbor_alltoallv>(__func__, out, out_counts, out_offsets, out_type, in, in_counts,
                                          in_offsets, in_type, comm);
}

int MPI_Ineighbor_alltoallv(const void* out, const int out_counts[], const int out_offsets[],
                            MPI_Datatype out_type, void* in, const int in_counts[], const int in_offsets[],
                            MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  return pass_on<PMPI_Ineighbor_alltoallv>(__func__, out, out_counts, out_offsets, out_type, in, in_counts,
                                           in_offsets, in_type, comm, request);
}

int MPI_Neighbor_alltoallw(const void* out, const int out_counts[], const MPI_Aint out_offsets[],
                           const MPI_Datatype out_types[], void* in, const int in_counts[],
                           const MPI_Aint in_offsets[], const MPI_Datatype in_types[], MPI_Comm comm) {
  return pass_on<PMPI_Neighbor_alltoallw>(__func__, out, out_counts, out_offsets, out_types, in, in_counts,
                                          in_offsets, in_types, comm);
}

int MPI_Ineighbor_alltoallw(const void* out, const int out_counts[], const MPI_Aint out_offsets[],
                            const MPI_Datatype out_types[], void* in, const int in_counts[],
                            const MPI_Aint in_offsets[], const MPI_Datatype in_types[], MPI_Comm comm,
                            MPI_Request* request) {
  return pass_on<PMPI_Ineighbor_alltoallw>(__func__, out, out_counts, out_offsets, out_types, in, in_counts,
                                           in_offsets, in_types, comm, request);
}

}  // extern "C"

}  // namespace course::mpi_layer
