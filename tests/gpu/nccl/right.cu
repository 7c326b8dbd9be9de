#include <nvtx3/nvToolsExt.h>

#include <string>
#include <utility>
#include <vector>

#include "ranks.hpp"

namespace nccl_programs {

namespace {

/// Rank r's numbers are 100 r + i.
void fill_own(Rank& r, float* to, cudaStream_t stream) {
  fill<<<1, n, 0, stream>>>(to, 100.0f * r.rank);
}

/// All ranks' numbers, added up as they come by.
void ring(course::Call& call) {
  Rank r(call);
  float *held = r.x, *arriving = r.y;
  fill_own(r, held, r.compute);
  for (int hop = 0; hop < r.size; ++hop) {
    add<<<1, n, 0, r.compute>>>(r.z, held);
    if (hop == r.size - 1) break;
    check(ncclGroupStart());
    check(ncclSend(held, n, ncclFloat, r.next(), r.comm, r.compute));
    check(ncclRecv(arriving, n, ncclFloat, r.previous(), r.comm, r.compute));
    check(ncclGroupEnd());
    std::swap(held, arriving);
  }
  r.write("sum", r.z, n, r.compute);
}

/// The same, each transfer beside the addition of what it sends on.
void overlapped_ring(course::Call& call) {
  Rank r(call);
  nvtxRangePush("the ring");
  float *held = r.x, *arriving = r.y, *room = nullptr;
  check(cudaMallocAsync(&room, 3 * bytes, r.transfer));
  check(cudaFreeAsync(room, r.transfer));
  check(cudaStreamSynchronize(r.transfer));
  check(cudaMallocAsync(&room, 2 * bytes, r.transfer));
  fill_own(r, held, r.transfer);
  for (int hop = 0; hop < r.size; ++hop) {
    check(cudaEventRecord(r.event, r.transfer));
    check(cudaStreamWaitEvent(r.compute, r.event));
    if (hop < r.size - 1) {
      check(ncclGroupStart());
      check(ncclSend(held, n, ncclFloat, r.next(), r.comm, r.transfer));
      check(ncclRecv(arriving, n, ncclFloat, r.previous(), r.comm, r.transfer));
      check(ncclGroupEnd());
    }
    nvtxRangePush(("block " + std::to_string(hop)).c_str());
    add<<<1, n, 0, r.compute>>>(r.z, held);
    check(cudaGetLastError());
    nvtxRangePop();
    check(cudaEventRecord(r.other, r.compute));
    check(cudaStreamWaitEvent(r.transfer, r.other));
    std::swap(held, arriving);
  }
  check(cudaFreeAsync(room, r.transfer));
  nvtxRangePop();
  r.write("sum", r.z, n, r.compute);
}

void collectives(course::Call& call) {
  Rank r(call);
  const auto fresh = [&] { fill_own(r, r.x, r.compute); };
  fresh();
  for (int root = 0; root < r.size; ++root)
    check(ncclBroadcast(r.x, r.y + root * n, n, ncclFloat32, root, r.comm, r.compute));
  r.write("broadcast", r.y, r.size * n, r.compute);
  check(ncclAllGather(r.x, r.z, n, ncclFloat, r.comm, r.compute));
  r.write("all_gather", r.z, r.size * n, r.compute);
  check(ncclReduceScatter(r.z, r.y, n, ncclFloat, ncclSum, r.comm, r.compute));
  r.write("reduce_scatter", r.y, n, r.compute);
  for (const auto& [name, operation] : {std::pair{"sum", ncclSum},
                                        {"product", ncclProd},
                                        {"maximum", ncclMax},
                                        {"minimum", ncclMin},
                                        {"average", ncclAvg}}) {
    check(ncclAllReduce(r.x, r.y, n, ncclFloat, operation, r.comm, r.compute));
    r.write(name, r.y, n, r.compute);
  }
  check(ncclAllReduce(r.x, r.x, n, ncclFloat, ncclSum, r.comm, r.compute));
  r.write("in_place_sum", r.x, n, r.compute);
  fresh();
  check(cudaMemcpyAsync(r.z + r.rank * n, r.x, bytes, cudaMemcpyDeviceToDevice, r.compute));
  check(ncclAllGather(r.z + r.rank * n, r.z, n, ncclFloat, r.comm, r.compute));
  r.write("in_place_all_gather", r.z, r.size * n, r.compute);
}

/// 0 numbers, several messages to one peer, and each rank to each and to itself, in one group.
void messages_of_one_group(course::Call& call) {
  Rank r(call);
  fill_own(r, r.x, r.compute);
  check(ncclGroupStart());
  for (int peer = 0; peer < r.size; ++peer) {
    check(ncclSend(nullptr, 0, ncclFloat, peer, r.comm, r.compute));
    check(ncclRecv(nullptr, 0, ncclFloat, peer, r.comm, r.compute));
    check(ncclSend(r.x, n / 2, ncclFloat, peer, r.comm, r.compute));
    check(ncclSend(r.x + n / 2, n / 2, ncclFloat, peer, r.comm, r.compute));
    check(ncclRecv(r.y + peer * n, n / 2, ncclFloat, peer, r.comm, r.compute));
    check(ncclRecv(r.y + peer * n + n / 2, n / 2, ncclFloat, peer, r.comm, r.compute));
  }
  check(ncclGroupEnd());
  r.write("all", r.y, r.size * n, r.compute);
}

/// What both streams do next waits for the whole group, and the group for what both did before.
void group_over_two_streams(course::Call& call) {
  Rank r(call);
  fill_own(r, r.x, r.compute);
  fill_own(r, r.y, r.transfer);
  check(ncclGroupStart());
  check(ncclSend(r.x, n, ncclFloat, r.next(), r.comm, r.transfer));
  check(ncclSend(r.y, n, ncclFloat, r.next(), r.comm, r.compute));
  check(ncclRecv(r.z, n, ncclFloat, r.previous(), r.comm, r.compute));
  check(ncclRecv(r.z + n, n, ncclFloat, r.previous(), r.comm, r.compute));
  check(ncclGroupEnd());
  add<<<1, n, 0, r.compute>>>(r.z, r.z + n);
  r.write("sum", r.z, n, r.compute);
}

/// Of each rank and the rank across, where there is one: two communicators, each with its own id.
void halves(course::Call& call) {
  Rank r(call);
  MPI_Comm half;
  MPI_Comm_split(r.mpi, r.rank % 2, -r.rank, &half);
  const ncclComm_t comm = Rank::join(half);
  int ranks = 0, own = 0, expected = 0;
  check(ncclCommCount(comm, &ranks));
  check(ncclCommUserRank(comm, &own));
  MPI_Comm_rank(half, &expected);
  if (own != expected) throw std::runtime_error("ncclCommUserRank");
  fill_own(r, r.x, r.compute);
  check(cudaStreamSynchronize(r.compute));
  check(ncclAllReduce(r.x, r.y, n, ncclFloat, ncclSum, comm, r.compute));
  check(ncclAllReduce(r.x, r.z, n, ncclFloat, ncclSum, r.comm, r.transfer));
  check(cudaStreamSynchronize(r.compute));
  check(ncclCommDestroy(comm));
  MPI_Comm_free(&half);
  r.write("half", r.y, n, r.compute);
  r.write("whole", r.z, n, r.transfer);
}

/// Two blocks go to the next rank and back, with work in between, while the hosts wait in calls of MPI's.
void there_and_back(course::Call& call, void (*wait)(MPI_Request* request)) {
  Rank r(call);
  fill_own(r, r.x, r.compute);
  check(ncclGroupStart());
  check(ncclSend(r.x, n, ncclFloat, r.next(), r.comm, r.compute));
  check(ncclRecv(r.y, n, ncclFloat, r.previous(), r.comm, r.compute));
  check(ncclGroupEnd());
  add<<<1, n, 0, r.compute>>>(r.y, r.x);
  check(ncclGroupStart());
  check(ncclSend(r.y, n, ncclFloat, r.previous(), r.comm, r.compute));
  check(ncclRecv(r.z, n, ncclFloat, r.next(), r.comm, r.compute));
  check(ncclGroupEnd());
  char byte = 0;
  MPI_Request request;
  if (r.rank == 0) r.write("sum", r.z, n, r.compute);
  if (r.rank > 0) {
    MPI_Irecv(&byte, 1, MPI_CHAR, r.rank - 1, 0, r.mpi, &request);
    wait(&request);
  }
  if (r.rank < r.size - 1) MPI_Send(&byte, 1, MPI_CHAR, r.rank + 1, 0, r.mpi);
  if (r.rank > 0) r.write("sum", r.z, n, r.compute);
}

void host_waits_in_mpi(course::Call& call) {
  there_and_back(call, [](MPI_Request* request) { MPI_Wait(request, MPI_STATUS_IGNORE); });
}

void host_tests_in_mpi(course::Call& call) {
  there_and_back(call, [](MPI_Request* request) {
    for (int done = 0; done == 0;) MPI_Test(request, &done, MPI_STATUS_IGNORE);
  });
}

/// Rank 0 waits in the barrier, and its device for a block, works on it, and sends it to the others, who come
/// to the barrier then.
void host_waits_in_a_barrier(course::Call& call) {
  Rank r(call);
  const int last = r.size - 1;
  fill_own(r, r.x, r.compute);
  check(ncclGroupStart());
  if (r.rank == last) check(ncclSend(r.x, n, ncclFloat, 0, r.comm, r.compute));
  if (r.rank == 0) check(ncclRecv(r.y, n, ncclFloat, last, r.comm, r.compute));
  check(ncclGroupEnd());
  add<<<1, n, 0, r.compute>>>(r.y, r.x);
  check(ncclBroadcast(r.y, r.y, n, ncclFloat, 0, r.comm, r.compute));
  if (r.rank > 0) check(cudaStreamSynchronize(r.compute));
  MPI_Barrier(r.mpi);
  r.write("sum", r.y, n, r.compute);
}

}  // namespace

course::Adapter right_programs() {
  return {{"ring", ring},
          {"overlapped_ring", overlapped_ring},
          {"collectives", collectives},
          {"messages_of_one_group", messages_of_one_group},
          {"group_over_two_streams", group_over_two_streams},
          {"halves", halves},
          {"host_waits_in_mpi", host_waits_in_mpi},
          {"host_tests_in_mpi", host_tests_in_mpi},
          {"host_waits_in_a_barrier", host_waits_in_a_barrier}};
}

}  // namespace nccl_programs
