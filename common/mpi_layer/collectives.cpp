#include <numeric>

#include "mpi_layer/recorder.hpp"

using course::Span;
using course::mpi_layer::bytes_of;
using course::mpi_layer::check;
using course::mpi_layer::Communicator;
using course::mpi_layer::Operation;
using course::mpi_layer::Recorder;
using course::mpi_layer::watching;

namespace {

constexpr int no_root = MPI_PROC_NULL;

/// Runs a blocking collective. received(communicator) is the size in bytes of this rank's receive buffer.
template <class Received, class Call>
int run(Recorder& recorder, const char* name, MPI_Comm comm, int root, const Received& received,
        const Call& call) {
  const std::shared_ptr<Communicator> communicator = recorder.enter(name, comm);
  const std::int64_t bytes = received(*communicator);
  recorder.journal.count_collective(name, bytes);
  const Operation operation = recorder.prepare_collective(name, communicator, bytes, root);
  check(recorder.waiting.run_blocked({name}, operation, call), [&] { return operation.text(); });
  return MPI_SUCCESS;
}

/// Starts a nonblocking collective.
template <class Received, class Call>
int start(Recorder& recorder, const char* name, MPI_Comm comm, int root, MPI_Request* request,
          const Received& received, const Call& call) {
  const std::shared_ptr<Communicator> communicator = recorder.enter(name, comm);
  const std::int64_t bytes = received(*communicator);
  recorder.journal.count_collective(name, bytes);
  *request = recorder.start(recorder.prepare_collective(name, communicator, bytes, root), call);
  return MPI_SUCCESS;
}

/// The same bytes on every rank.
auto on_every_rank(std::int64_t bytes) {
  return [bytes](const Communicator&) { return bytes; };
}

/// So many bytes for each rank of the communicator.
auto for_each_rank(int count, MPI_Datatype type) {
  return [=](const Communicator& on) { return on.size * bytes_of(count, type); };
}

auto for_each_rank(const int* counts, MPI_Datatype type) {
  return [=](const Communicator& on) {
    return std::accumulate(counts, counts + on.size, std::int64_t{0},
                           [&](std::int64_t sum, int count) { return sum + bytes_of(count, type); });
  };
}

template <class Received>
auto on_root(int root, const Received& received) {
  return [=](const Communicator& on) { return on.rank == root ? received(on) : std::int64_t{0}; };
}

auto except_on_root(int root, std::int64_t bytes) {
  return [=](const Communicator& on) { return on.rank == root ? std::int64_t{0} : bytes; };
}

/// This rank's entry of the counts.
auto own_share(const int* counts, MPI_Datatype type) {
  return [=](const Communicator& on) { return bytes_of(counts[on.rank], type); };
}

}  // namespace

int MPI_Barrier(MPI_Comm comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Barrier(comm);
  return run(*recorder, "MPI_Barrier", comm, no_root, on_every_rank(0), [=] { return PMPI_Barrier(comm); });
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Bcast(buffer, count, type, root, comm);
  return run(*recorder, "MPI_Bcast", comm, root, except_on_root(root, bytes_of(count, type)),
             [=] { return PMPI_Bcast(buffer, count, type, root, comm); });
}

int MPI_Gather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
               MPI_Datatype in_type, int root, MPI_Comm comm) {
  Recorder* recorder = watching();
  const auto call = [=] { return PMPI_Gather(out, out_count, out_type, in, in_count, in_type, root, comm); };
  if (recorder == nullptr) return call();
  return run(*recorder, "MPI_Gather", comm, root, on_root(root, for_each_rank(in_count, in_type)), call);
}

int MPI_Gatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                const int offsets[], MPI_Datatype in_type, int root, MPI_Comm comm) {
  Recorder* recorder = watching();
  const auto call = [=] {
    return PMPI_Gatherv(out, out_count, out_type, in, in_counts, offsets, in_type, root, comm);
  };
  if (recorder == nullptr) return call();
  return run(*recorder, "MPI_Gatherv", comm, root, on_root(root, for_each_rank(in_counts, in_type)), call);
}

int MPI_Scatter(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                MPI_Datatype in_type, int root, MPI_Comm comm) {
  Recorder* recorder = watching();
  const auto call = [=] { return PMPI_Scatter(out, out_count, out_type, in, in_count, in_type, root, comm); };
  if (recorder == nullptr) return call();
  return run(*recorder, "MPI_Scatter", comm, root, on_every_rank(bytes_of(in_count, in_type)), call);
}

int MPI_Scatterv(const void* out, const int out_counts[], const int offsets[], MPI_Datatype out_type,
                 void* in, int in_count, MPI_Datatype in_type, int root, MPI_Comm comm) {
  Recorder* recorder = watching();
  const auto call = [=] {
    return PMPI_Scatterv(out, out_counts, offsets, out_type, in, in_count, in_type, root, comm);
  };
  if (recorder == nullptr) return call();
  return run(*recorder, "MPI_Scatterv", comm, root, on_every_rank(bytes_of(in_count, in_type)), call);
}

int MPI_Allgather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                  MPI_Datatype in_type, MPI_Comm comm) {
  Recorder* recorder = watching();
  const auto call = [=] { return PMPI_Allgather(out, out_count, out_type, in, in_count, in_type, comm); };
  if (recorder == nullptr) return call();
  return run(*recorder, "MPI_Allgather", comm, no_root, for_each_rank(in_count, in_type), call);
}

int MPI_Allgatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                   const int offsets[], MPI_Datatype in_type, MPI_Comm comm) {
  Recorder* recorder = watching();
  const auto call = [=] {
    return PMPI_Allgatherv(out, out_count, out_type, in, in_counts, offsets, in_type, comm);
  };
  if (recorder == nullptr) return call();
  return run(*recorder, "MPI_Allgatherv", comm, no_root, for_each_rank(in_counts, in_type), call);
}

int MPI_Reduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Reduce(out, in, count, type, op, root, comm);
  return run(*recorder, "MPI_Reduce", comm, root, on_root(root, on_every_rank(bytes_of(count, type))),
             [=] { return PMPI_Reduce(out, in, count, type, op, root, comm); });
}

int MPI_Allreduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Allreduce(out, in, count, type, op, comm);
  return run(*recorder, "MPI_Allreduce", comm, no_root, on_every_rank(bytes_of(count, type)),
             [=] { return PMPI_Allreduce(out, in, count, type, op, comm); });
}

int MPI_Reduce_scatter(const void* out, void* in, const int counts[], MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Reduce_scatter(out, in, counts, type, op, comm);
  return run(*recorder, "MPI_Reduce_scatter", comm, no_root, own_share(counts, type),
             [=] { return PMPI_Reduce_scatter(out, in, counts, type, op, comm); });
}

int MPI_Reduce_scatter_block(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Reduce_scatter_block(out, in, count, type, op, comm);
  return run(*recorder, "MPI_Reduce_scatter_block", comm, no_root, on_every_rank(bytes_of(count, type)),
             [=] { return PMPI_Reduce_scatter_block(out, in, count, type, op, comm); });
}

int MPI_Scan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Scan(out, in, count, type, op, comm);
  return run(*recorder, "MPI_Scan", comm, no_root, on_every_rank(bytes_of(count, type)),
             [=] { return PMPI_Scan(out, in, count, type, op, comm); });
}

int MPI_Exscan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Exscan(out, in, count, type, op, comm);
  // The first rank's receive buffer is left alone.
  return run(*recorder, "MPI_Exscan", comm, no_root, except_on_root(0, bytes_of(count, type)),
             [=] { return PMPI_Exscan(out, in, count, type, op, comm); });
}

int MPI_Alltoall(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                 MPI_Datatype in_type, MPI_Comm comm) {
  Recorder* recorder = watching();
  const auto call = [=] { return PMPI_Alltoall(out, out_count, out_type, in, in_count, in_type, comm); };
  if (recorder == nullptr) return call();
  return run(*recorder, "MPI_Alltoall", comm, no_root, for_each_rank(in_count, in_type), call);
}

int MPI_Alltoallv(const void* out, const int out_counts[], const int out_offsets[], MPI_Datatype out_type,
                  void* in, const int in_counts[], const int in_offsets[], MPI_Datatype in_type,
                  MPI_Comm comm) {
  Recorder* recorder = watching();
  const auto call = [=] {
    return PMPI_Alltoallv(out, out_counts, out_offsets, out_type, in, in_counts, in_offsets, in_type, comm);
  };
  if (recorder == nullptr) return call();
  return run(*recorder, "MPI_Alltoallv", comm, no_root, for_each_rank(in_counts, in_type), call);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Ibarrier(comm, request);
  return start(*recorder, "MPI_Ibarrier", comm, no_root, request, on_every_rank(0),
               [=](MPI_Request* started) { return PMPI_Ibarrier(comm, started); });
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Ibcast(buffer, count, type, root, comm, request);
  return start(*recorder, "MPI_Ibcast", comm, root, request, except_on_root(root, bytes_of(count, type)),
               [=](MPI_Request* started) { return PMPI_Ibcast(buffer, count, type, root, comm, started); });
}

int MPI_Iallreduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Iallreduce(out, in, count, type, op, comm, request);
  return start(
      *recorder, "MPI_Iallreduce", comm, no_root, request, on_every_rank(bytes_of(count, type)),
      [=](MPI_Request* started) { return PMPI_Iallreduce(out, in, count, type, op, comm, started); });
}

int MPI_Iallgather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                   MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr)
    return PMPI_Iallgather(out, out_count, out_type, in, in_count, in_type, comm, request);
  return start(*recorder, "MPI_Iallgather", comm, no_root, request, for_each_rank(in_count, in_type),
               [=](MPI_Request* started) {
                 return PMPI_Iallgather(out, out_count, out_type, in, in_count, in_type, comm, started);
               });
}

int MPI_Iallgatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                    const int offsets[], MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  Recorder* recorder = watching();
  const auto call = [=](MPI_Request* started) {
    return PMPI_Iallgatherv(out, out_count, out_type, in, in_counts, offsets, in_type, comm, started);
  };
  if (recorder == nullptr) return call(request);
  return start(*recorder, "MPI_Iallgatherv", comm, no_root, request, for_each_rank(in_counts, in_type), call);
}

int MPI_Igather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                MPI_Datatype in_type, int root, MPI_Comm comm, MPI_Request* request) {
  Recorder* recorder = watching();
  const auto call = [=](MPI_Request* started) {
    return PMPI_Igather(out, out_count, out_type, in, in_count, in_type, root, comm, started);
  };
  if (recorder == nullptr) return call(request);
  return start(*recorder, "MPI_Igather", comm, root, request, on_root(root, for_each_rank(in_count, in_type)),
               call);
}

int MPI_Igatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                 const int offsets[], MPI_Datatype in_type, int root, MPI_Comm comm, MPI_Request* request) {
  Recorder* recorder = watching();
  const auto call = [=](MPI_Request* started) {
    return PMPI_Igatherv(out, out_count, out_type, in, in_counts, offsets, in_type, root, comm, started);
  };
  if (recorder == nullptr) return call(request);
  return start(*recorder, "MPI_Igatherv", comm, root, request,
               on_root(root, for_each_rank(in_counts, in_type)), call);
}

int MPI_Iscatter(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                 MPI_Datatype in_type, int root, MPI_Comm comm, MPI_Request* request) {
  Recorder* recorder = watching();
  const auto call = [=](MPI_Request* started) {
    return PMPI_Iscatter(out, out_count, out_type, in, in_count, in_type, root, comm, started);
  };
  if (recorder == nullptr) return call(request);
  return start(*recorder, "MPI_Iscatter", comm, root, request, on_every_rank(bytes_of(in_count, in_type)),
               call);
}

int MPI_Iscatterv(const void* out, const int out_counts[], const int offsets[], MPI_Datatype out_type,
                  void* in, int in_count, MPI_Datatype in_type, int root, MPI_Comm comm,
                  MPI_Request* request) {
  Recorder* recorder = watching();
  const auto call = [=](MPI_Request* started) {
    return PMPI_Iscatterv(out, out_counts, offsets, out_type, in, in_count, in_type, root, comm, started);
  };
  if (recorder == nullptr) return call(request);
  return start(*recorder, "MPI_Iscatterv", comm, root, request, on_every_rank(bytes_of(in_count, in_type)),
               call);
}

int MPI_Ialltoall(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                  MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  Recorder* recorder = watching();
  const auto call = [=](MPI_Request* started) {
    return PMPI_Ialltoall(out, out_count, out_type, in, in_count, in_type, comm, started);
  };
  if (recorder == nullptr) return call(request);
  return start(*recorder, "MPI_Ialltoall", comm, no_root, request, for_each_rank(in_count, in_type), call);
}

int MPI_Ialltoallv(const void* out, const int out_counts[], const int out_offsets[], MPI_Datatype out_type,
                   void* in, const int in_counts[], const int in_offsets[], MPI_Datatype in_type,
                   MPI_Comm comm, MPI_Request* request) {
  Recorder* recorder = watching();
  const auto call = [=](MPI_Request* started) {
    return PMPI_Ialltoallv(out, out_counts, out_offsets, out_type, in, in_counts, in_offsets, in_type, comm,
                           started);
  };
  if (recorder == nullptr) return call(request);
  return start(*recorder, "MPI_Ialltoallv", comm, no_root, request, for_each_rank(in_counts, in_type), call);
}

int MPI_Ireduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request* request) {
  Recorder* recorder = watching();
  const auto call = [=](MPI_Request* started) {
    return PMPI_Ireduce(out, in, count, type, op, root, comm, started);
  };
  if (recorder == nullptr) return call(request);
  return start(*recorder, "MPI_Ireduce", comm, root, request,
               on_root(root, on_every_rank(bytes_of(count, type))), call);
}

int MPI_Ireduce_scatter(const void* out, void* in, const int counts[], MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm, MPI_Request* request) {
  Recorder* recorder = watching();
  const auto call = [=](MPI_Request* started) {
    return PMPI_Ireduce_scatter(out, in, counts, type, op, comm, started);
  };
  if (recorder == nullptr) return call(request);
  return start(*recorder, "MPI_Ireduce_scatter", comm, no_root, request, own_share(counts, type), call);
}

int MPI_Ireduce_scatter_block(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
  Recorder* recorder = watching();
  const auto call = [=](MPI_Request* started) {
    return PMPI_Ireduce_scatter_block(out, in, count, type, op, comm, started);
  };
  if (recorder == nullptr) return call(request);
  return start(*recorder, "MPI_Ireduce_scatter_block", comm, no_root, request,
               on_every_rank(bytes_of(count, type)), call);
}

int MPI_Iscan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request) {
  Recorder* recorder = watching();
  const auto call = [=](MPI_Request* started) { return PMPI_Iscan(out, in, count, type, op, comm, started); };
  if (recorder == nullptr) return call(request);
  return start(*recorder, "MPI_Iscan", comm, no_root, request, on_every_rank(bytes_of(count, type)), call);
}

int MPI_Iexscan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                MPI_Request* request) {
  Recorder* recorder = watching();
  const auto call = [=](MPI_Request* started) {
    return PMPI_Iexscan(out, in, count, type, op, comm, started);
  };
  if (recorder == nullptr) return call(request);
  return start(*recorder, "MPI_Iexscan", comm, no_root, request, except_on_root(0, bytes_of(count, type)),
               call);
}
