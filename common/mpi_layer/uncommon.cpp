#include "mpi_layer/recorder.hpp"

/// Calls that the course does not use: named in a fact and passed on. While a blocking one waits, the page
/// says its name and that it may be met by anything.

using course::mpi_layer::check;
using course::mpi_layer::Recorder;
using course::mpi_layer::unknown_operation;
using course::mpi_layer::watching;

namespace {

template <class Call>
int run(const char* name, const Call& call) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return call();
  recorder->journal.note_uncommon(name);
  check(recorder->waiting.run_blocked({name}, unknown_operation(name), call), [&] { return name; });
  return MPI_SUCCESS;
}

}  // namespace

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  return run("MPI_Mprobe", [=] { return PMPI_Mprobe(source, tag, comm, message, status); });
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  return run("MPI_Improbe", [=] { return PMPI_Improbe(source, tag, comm, flag, message, status); });
}

int MPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  return run("MPI_Mrecv", [=] { return PMPI_Mrecv(buffer, count, type, message, status); });
}

int MPI_Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
  return run("MPI_Imrecv", [=] { return PMPI_Imrecv(buffer, count, type, message, request); });
}

int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  return run("MPI_Win_create", [=] { return PMPI_Win_create(base, size, unit, info, comm, window); });
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
  return run("MPI_Win_allocate", [=] { return PMPI_Win_allocate(size, unit, info, comm, base, window); });
}

int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* window) {
  return run("MPI_Win_allocate_shared",
             [=] { return PMPI_Win_allocate_shared(size, unit, info, comm, base, window); });
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  return run("MPI_Win_create_dynamic", [=] { return PMPI_Win_create_dynamic(info, comm, window); });
}

int MPI_Win_fence(int assertion, MPI_Win window) {
  return run("MPI_Win_fence", [=] { return PMPI_Win_fence(assertion, window); });
}

int MPI_Alltoallw(const void* out, const int out_counts[], const int out_offsets[],
                  const MPI_Datatype out_types[], void* in, const int in_counts[], const int in_offsets[],
                  const MPI_Datatype in_types[], MPI_Comm comm) {
  return run("MPI_Alltoallw", [=] {
    return PMPI_Alltoallw(out, out_counts, out_offsets, out_types, in, in_counts, in_offsets, in_types, comm);
  });
}

int MPI_Ialltoallw(const void* out, const int out_counts[], const int out_offsets[],
                   const MPI_Datatype out_types[], void* in, const int in_counts[], const int in_offsets[],
                   const MPI_Datatype in_types[], MPI_Comm comm, MPI_Request* request) {
  return run("MPI_Ialltoallw", [=] {
    return PMPI_Ialltoallw(out, out_counts, out_offsets, out_types, in, in_counts, in_offsets, in_types, comm,
                           request);
  });
}

int MPI_Neighbor_allgather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                           MPI_Datatype in_type, MPI_Comm comm) {
  return run("MPI_Neighbor_allgather",
             [=] { return PMPI_Neighbor_allgather(out, out_count, out_type, in, in_count, in_type, comm); });
}

int MPI_Ineighbor_allgather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                            MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  return run("MPI_Ineighbor_allgather", [=] {
    return PMPI_Ineighbor_allgather(out, out_count, out_type, in, in_count, in_type, comm, request);
  });
}

int MPI_Neighbor_allgatherv(const void* out, int out_count, MPI_Datatype out_type, void* in,
                            const int in_counts[], const int offsets[], MPI_Datatype in_type, MPI_Comm comm) {
  return run("MPI_Neighbor_allgatherv", [=] {
    return PMPI_Neighbor_allgatherv(out, out_count, out_type, in, in_counts, offsets, in_type, comm);
  });
}

int MPI_Ineighbor_allgatherv(const void* out, int out_count, MPI_Datatype out_type, void* in,
                             const int in_counts[], const int offsets[], MPI_Datatype in_type, MPI_Comm comm,
                             MPI_Request* request) {
  return run("MPI_Ineighbor_allgatherv", [=] {
    return PMPI_Ineighbor_allgatherv(out, out_count, out_type, in, in_counts, offsets, in_type, comm,
                                     request);
  });
}

int MPI_Neighbor_alltoall(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                          MPI_Datatype in_type, MPI_Comm comm) {
  return run("MPI_Neighbor_alltoall",
             [=] { return PMPI_Neighbor_alltoall(out, out_count, out_type, in, in_count, in_type, comm); });
}

int MPI_Ineighbor_alltoall(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                           MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  return run("MPI_Ineighbor_alltoall", [=] {
    return PMPI_Ineighbor_alltoall(out, out_count, out_type, in, in_count, in_type, comm, request);
  });
}

int MPI_Neighbor_alltoallv(const void* out, const int out_counts[], const int out_offsets[],
                           MPI_Datatype out_type, void* in, const int in_counts[], const int in_offsets[],
                           MPI_Datatype in_type, MPI_Comm comm) {
  return run("MPI_Neighbor_alltoallv", [=] {
    return PMPI_Neighbor_alltoallv(out, out_counts, out_offsets, out_type, in, in_counts, in_offsets, in_type,
                                   comm);
  });
}

int MPI_Ineighbor_alltoallv(const void* out, const int out_counts[], const int out_offsets[],
                            MPI_Datatype out_type, void* in, const int in_counts[], const int in_offsets[],
                            MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  return run("MPI_Ineighbor_alltoallv", [=] {
    return PMPI_Ineighbor_alltoallv(out, out_counts, out_offsets, out_type, in, in_counts, in_offsets,
                                    in_type, comm, request);
  });
}

int MPI_Neighbor_alltoallw(const void* out, const int out_counts[], const MPI_Aint out_offsets[],
                           const MPI_Datatype out_types[], void* in, const int in_counts[],
                           const MPI_Aint in_offsets[], const MPI_Datatype in_types[], MPI_Comm comm) {
  return run("MPI_Neighbor_alltoallw", [=] {
    return PMPI_Neighbor_alltoallw(out, out_counts, out_offsets, out_types, in, in_counts, in_offsets,
                                   in_types, comm);
  });
}

int MPI_Ineighbor_alltoallw(const void* out, const int out_counts[], const MPI_Aint out_offsets[],
                            const MPI_Datatype out_types[], void* in, const int in_counts[],
                            const MPI_Aint in_offsets[], const MPI_Datatype in_types[], MPI_Comm comm,
                            MPI_Request* request) {
  return run("MPI_Ineighbor_alltoallw", [=] {
    return PMPI_Ineighbor_alltoallw(out, out_counts, out_offsets, out_types, in, in_counts, in_offsets,
                                    in_types, comm, request);
  });
}
