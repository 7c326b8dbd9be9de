#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "mpi_layer/recorder.hpp"

namespace course::mpi_layer {

namespace {

/// A call of a collective, and its root where it has one.
struct Collective {
  const char* name;
  MPI_Comm comm;
  int root = MPI_PROC_NULL;
};

/// So many elements from an address on, which a rank gives to a collective or gets from it.
struct Part {
  const void* buffer;
  std::int64_t count;
  MPI_Datatype type;
};
using Parts = std::vector<Part>;

/// given(communicator) and received(communicator) are this rank's.
template <class Given, class Received>
Operation prepare(Recorder& recorder, const Collective& called, const Given& given,
                  const Received& received) {
  const std::shared_ptr<Communicator> communicator = recorder.enter(called.name, called.comm);
  const Parts in = received(*communicator);
  const std::int64_t bytes = std::accumulate(
      in.begin(), in.end(), std::int64_t{0},
      [](std::int64_t sum, const Part& part) { return sum + bytes_of(part.count, part.type); });
  const Operation operation = recorder.prepare_collective(called.name, communicator, bytes, called.root);
  recorder.journal.count_collective(operation);
  const auto check_extents = [&](const Parts& parts, bool writes) {
    for (const Part& part : parts)
      recorder.check_extent(operation, extent_of(part.buffer, part.count, part.type), writes);
  };
  check_extents(given(*communicator), false);
  check_extents(in, true);
  return operation;
}

/// Runs a blocking collective: the library's function with these arguments.
template <auto Library, class Given, class Received, class... Arguments>
int run(const Collective& called, const Given& given, const Received& received, Arguments... arguments) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return Library(arguments...);
  const Operation operation = prepare(*recorder, called, given, received);
  const auto call = [&] { return Library(arguments...); };
  check(recorder->waiting.run_blocked({called.name}, operation, call, called.comm), operation);
  return MPI_SUCCESS;
}

/// Starts a nonblocking collective, whose last argument is the request.
template <auto Library, class Given, class Received, class... Arguments>
int start(const Collective& called, MPI_Request* request, const Given& given, const Received& received,
          Arguments... arguments) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return Library(arguments..., request);
  *request = recorder->start(prepare(*recorder, called, given, received),
                             [&](MPI_Request* started) { return Library(arguments..., started); });
  return MPI_SUCCESS;
}

Parts nothing(const Communicator&) {
  return {};
}

/// The same on every rank.
auto on_every_rank(const void* buffer, int count, MPI_Datatype type) {
  return [=](const Communicator&) { return Parts{{buffer, count, type}}; };
}

/// So many for each rank of the communicator.
auto for_each_rank(const void* buffer, int count, MPI_Datatype type) {
  return [=](const Communicator& on) { return Parts{{buffer, std::int64_t{count} * on.size, type}}; };
}

/// The same with counts of their own, side by side.
auto for_each_rank(const void* buffer, const int* counts, MPI_Datatype type) {
  return [=](const Communicator& on) {
    return Parts{{buffer, std::accumulate(counts, counts + on.size, std::int64_t{0}), type}};
  };
}

/// The same at offsets, which count elements.
auto for_each_rank(const void* buffer, const int* counts, const int* offsets, MPI_Datatype type) {
  return [=](const Communicator& on) {
    Parts parts;
    if (buffer == nullptr || buffer == MPI_IN_PLACE) return parts;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_extent(type, &lower, &extent);
    for (int rank = 0; rank < on.size; ++rank)
      parts.push_back({static_cast<const std::byte*>(buffer) + offsets[rank] * extent, counts[rank], type});
    return parts;
  };
}

template <class OfRank>
auto on_root(int root, const OfRank& parts) {
  return [=](const Communicator& on) { return on.rank == root ? parts(on) : Parts{}; };
}

template <class OfRank>
auto except_on_root(int root, const OfRank& parts) {
  return [=](const Communicator& on) { return on.rank == root ? Parts{} : parts(on); };
}

/// This rank's entry of the counts.
auto own_share(const void* buffer, const int* counts, MPI_Datatype type) {
  return [=](const Communicator& on) { return Parts{{buffer, counts[on.rank], type}}; };
}

}  // namespace

extern "C" {

int MPI_Barrier(MPI_Comm comm) {
  return run<PMPI_Barrier>({__func__, comm}, nothing, nothing, comm);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return run<PMPI_Bcast>({__func__, comm, root}, on_root(root, on_every_rank(buffer, count, type)),
                         except_on_root(root, on_every_rank(buffer, count, type)), buffer, count, type, root,
                         comm);
}

int MPI_Gather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
               MPI_Datatype in_type, int root, MPI_Comm comm) {
  return run<PMPI_Gather>({__func__, comm, root}, on_every_rank(out, out_count, out_type),
                          on_root(root, for_each_rank(in, in_count, in_type)), out, out_count, out_type, in,
                          in_count, in_type, root, comm);
}

int MPI_Gatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                const int offsets[], MPI_Datatype in_type, int root, MPI_Comm comm) {
  return run<PMPI_Gatherv>({__func__, comm, root}, on_every_rank(out, out_count, out_type),
                           on_root(root, for_each_rank(in, in_counts, offsets, in_type)), out, out_count,
                           out_type, in, in_counts, offsets, in_type, root, comm);
}

int MPI_Scatter(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                MPI_Datatype in_type, int root, MPI_Comm comm) {
  return run<PMPI_Scatter>({__func__, comm, root}, on_root(root, for_each_rank(out, out_count, out_type)),
                           on_every_rank(in, in_count, in_type), out, out_count, out_type, in, in_count,
                           in_type, root, comm);
}

int MPI_Scatterv(const void* out, const int out_counts[], const int offsets[], MPI_Datatype out_type,
                 void* in, int in_count, MPI_Datatype in_type, int root, MPI_Comm comm) {
  return run<PMPI_Scatterv>({__func__, comm, root},
                            on_root(root, for_each_rank(out, out_counts, offsets, out_type)),
                            on_every_rank(in, in_count, in_type), out, out_counts, offsets, out_type, in,
                            in_count, in_type, root, comm);
}

int MPI_Allgather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                  MPI_Datatype in_type, MPI_Comm comm) {
  return run<PMPI_Allgather>({__func__, comm}, on_every_rank(out, out_count, out_type),
                             for_each_rank(in, in_count, in_type), out, out_count, out_type, in, in_count,
                             in_type, comm);
}

int MPI_Allgatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                   const int offsets[], MPI_Datatype in_type, MPI_Comm comm) {
  return run<PMPI_Allgatherv>({__func__, comm}, on_every_rank(out, out_count, out_type),
                              for_each_rank(in, in_counts, offsets, in_type), out, out_count, out_type, in,
                              in_counts, offsets, in_type, comm);
}

int MPI_Reduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  return run<PMPI_Reduce>({__func__, comm, root}, on_every_rank(out, count, type),
                          on_root(root, on_every_rank(in, count, type)), out, in, count, type, op, root,
                          comm);
}

int MPI_Allreduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return run<PMPI_Allreduce>({__func__, comm}, on_every_rank(out, count, type),
                             on_every_rank(in, count, type), out, in, count, type, op, comm);
}

int MPI_Reduce_scatter(const void* out, void* in, const int counts[], MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
  return run<PMPI_Reduce_scatter>({__func__, comm}, for_each_rank(out, counts, type),
                                  own_share(in, counts, type), out, in, counts, type, op, comm);
}

int MPI_Reduce_scatter_block(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  return run<PMPI_Reduce_scatter_block>({__func__, comm}, for_each_rank(out, count, type),
                                        on_every_rank(in, count, type), out, in, count, type, op, comm);
}

int MPI_Scan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return run<PMPI_Scan>({__func__, comm}, on_every_rank(out, count, type), on_every_rank(in, count, type),
                        out, in, count, type, op, comm);
}

int MPI_Exscan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  // The first rank's receive buffer is left alone.
  return run<PMPI_Exscan>({__func__, comm}, on_every_rank(out, count, type),
                          except_on_root(0, on_every_rank(in, count, type)), out, in, count, type, op, comm);
}

int MPI_Alltoall(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                 MPI_Datatype in_type, MPI_Comm comm) {
  return run<PMPI_Alltoall>({__func__, comm}, for_each_rank(out, out_count, out_type),
                            for_each_rank(in, in_count, in_type), out, out_count, out_type, in, in_count,
                            in_type, comm);
}

int MPI_Alltoallv(const void* out, const int out_counts[], const int out_offsets[], MPI_Datatype out_type,
                  void* in, const int in_counts[], const int in_offsets[], MPI_Datatype in_type,
                  MPI_Comm comm) {
  return run<PMPI_Alltoallv>({__func__, comm}, for_each_rank(out, out_counts, out_offsets, out_type),
                             for_each_rank(in, in_counts, in_offsets, in_type), out, out_counts, out_offsets,
                             out_type, in, in_counts, in_offsets, in_type, comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Ibarrier>({__func__, comm}, request, nothing, nothing, comm);
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Ibcast>(
      {__func__, comm, root}, request, on_root(root, on_every_rank(buffer, count, type)),
      except_on_root(root, on_every_rank(buffer, count, type)), buffer, count, type, root, comm);
}

int MPI_Iallreduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  return start<PMPI_Iallreduce>({__func__, comm}, request, on_every_rank(out, count, type),
                                on_every_rank(in, count, type), out, in, count, type, op, comm);
}

int MPI_Iallgather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                   MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Iallgather>({__func__, comm}, request, on_every_rank(out, out_count, out_type),
                                for_each_rank(in, in_count, in_type), out, out_count, out_type, in, in_count,
                                in_type, comm);
}

int MPI_Iallgatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                    const int offsets[], MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Iallgatherv>({__func__, comm}, request, on_every_rank(out, out_count, out_type),
                                 for_each_rank(in, in_counts, offsets, in_type), out, out_count, out_type, in,
                                 in_counts, offsets, in_type, comm);
}

int MPI_Igather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                MPI_Datatype in_type, int root, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Igather>({__func__, comm, root}, request, on_every_rank(out, out_count, out_type),
                             on_root(root, for_each_rank(in, in_count, in_type)), out, out_count, out_type,
                             in, in_count, in_type, root, comm);
}

int MPI_Igatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                 const int offsets[], MPI_Datatype in_type, int root, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Igatherv>({__func__, comm, root}, request, on_every_rank(out, out_count, out_type),
                              on_root(root, for_each_rank(in, in_counts, offsets, in_type)), out, out_count,
                              out_type, in, in_counts, offsets, in_type, root, comm);
}

int MPI_Iscatter(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                 MPI_Datatype in_type, int root, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Iscatter>(
      {__func__, comm, root}, request, on_root(root, for_each_rank(out, out_count, out_type)),
      on_every_rank(in, in_count, in_type), out, out_count, out_type, in, in_count, in_type, root, comm);
}

int MPI_Iscatterv(const void* out, const int out_counts[], const int offsets[], MPI_Datatype out_type,
                  void* in, int in_count, MPI_Datatype in_type, int root, MPI_Comm comm,
                  MPI_Request* request) {
  return start<PMPI_Iscatterv>({__func__, comm, root}, request,
                               on_root(root, for_each_rank(out, out_counts, offsets, out_type)),
                               on_every_rank(in, in_count, in_type), out, out_counts, offsets, out_type, in,
                               in_count, in_type, root, comm);
}

int MPI_Ialltoall(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                  MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Ialltoall>({__func__, comm}, request, for_each_rank(out, out_count, out_type),
                               for_each_rank(in, in_count, in_type), out, out_count, out_type, in, in_count,
                               in_type, comm);
}

int MPI_Ialltoallv(const void* out, const int out_counts[], const int out_offsets[], MPI_Datatype out_type,
                   void* in, const int in_counts[], const int in_offsets[], MPI_Datatype in_type,
                   MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Ialltoallv>({__func__, comm}, request,
                                for_each_rank(out, out_counts, out_offsets, out_type),
                                for_each_rank(in, in_counts, in_offsets, in_type), out, out_counts,
                                out_offsets, out_type, in, in_counts, in_offsets, in_type, comm);
}

int MPI_Ireduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request* request) {
  return start<PMPI_Ireduce>({__func__, comm, root}, request, on_every_rank(out, count, type),
                             on_root(root, on_every_rank(in, count, type)), out, in, count, type, op, root,
                             comm);
}

int MPI_Ireduce_scatter(const void* out, void* in, const int counts[], MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Ireduce_scatter>({__func__, comm}, request, for_each_rank(out, counts, type),
                                     own_share(in, counts, type), out, in, counts, type, op, comm);
}

int MPI_Ireduce_scatter_block(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Ireduce_scatter_block>({__func__, comm}, request, for_each_rank(out, count, type),
                                           on_every_rank(in, count, type), out, in, count, type, op, comm);
}

int MPI_Iscan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request) {
  return start<PMPI_Iscan>({__func__, comm}, request, on_every_rank(out, count, type),
                           on_every_rank(in, count, type), out, in, count, type, op, comm);
}

int MPI_Iexscan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                MPI_Request* request) {
  return start<PMPI_Iexscan>({__func__, comm}, request, on_every_rank(out, count, type),
                             except_on_root(0, on_every_rank(in, count, type)), out, in, count, type, op,
                             comm);
}

}  // extern "C"

}  // namespace course::mpi_layer
