#include "ranks.hpp"

namespace nccl_programs {

namespace {

void wait(Rank& r) {
  check(cudaStreamSynchronize(r.compute));
  check(cudaStreamSynchronize(r.transfer));
}

void send_to_next(Rank& r, const float* from, cudaStream_t stream) {
  check(ncclSend(from, n, ncclFloat, r.next(), r.comm, stream));  // send_to_next
}
void receive_from_previous(Rank& r, float* to, cudaStream_t stream) {
  check(ncclRecv(to, n, ncclFloat, r.previous(), r.comm, stream));  // receive_from_previous
}
void exchange(Rank& r, const float* from, float* to, cudaStream_t stream) {
  check(ncclGroupStart());
  send_to_next(r, from, stream);
  receive_from_previous(r, to, stream);
  check(ncclGroupEnd());
}

void send_first(course::Call& call) {
  Rank r(call);
  send_to_next(r, r.x, r.transfer);
  receive_from_previous(r, r.y, r.transfer);
  wait(r);
}

void receive_first(course::Call& call) {
  Rank r(call);
  receive_from_previous(r, r.y, r.transfer);
  send_to_next(r, r.x, r.transfer);
  wait(r);
}

/// Calls on one communicator follow one another, whatever their streams.
void send_first_on_two_streams(course::Call& call) {
  Rank r(call);
  send_to_next(r, r.x, r.transfer);
  receive_from_previous(r, r.y, r.compute);
  check(cudaStreamSynchronize(r.compute));
}

/// The host waits for a kernel that waits for the group's event.
void send_first_behind_an_event(course::Call& call) {
  Rank r(call);
  send_to_next(r, r.x, r.transfer);
  check(cudaEventRecord(r.event, r.transfer));
  check(cudaStreamWaitEvent(r.compute, r.event));
  fill<<<1, n, 0, r.compute>>>(r.z, 1);
  check(cudaStreamSynchronize(r.compute));
}

void send_without_receive(course::Call& call) {
  Rank r(call);
  if (r.rank == 0) send_to_next(r, r.x, r.transfer);
  wait(r);
}

void collective_without_the_last_rank(course::Call& call) {
  Rank r(call);
  if (r.rank < r.size - 1) check(ncclAllReduce(r.x, r.y, n, ncclFloat, ncclSum, r.comm, r.compute));
  wait(r);
}

/// The function ends while what it has put into its stream is going on.
void nobody_waits(course::Call& call) {
  Rank* const never_deleted = new Rank(call);
  Rank& r = *never_deleted;
  exchange(r, r.x, r.y, r.transfer);
  if (r.rank == 0) wait(r);
}

void sizes_that_differ(course::Call& call) {
  Rank r(call);
  check(ncclGroupStart());
  check(ncclSend(r.x, r.rank == 0 ? n / 2 : n, ncclFloat, r.next(), r.comm, r.compute));  // short_send
  receive_from_previous(r, r.y, r.compute);
  check(ncclGroupEnd());
  wait(r);
}

void types_that_differ(course::Call& call) {
  Rank r(call);
  check(ncclGroupStart());
  send_to_next(r, r.x, r.compute);
  const ncclDataType_t type = r.rank == 1 ? ncclInt : ncclFloat;
  check(ncclRecv(r.y, n, type, r.previous(), r.comm, r.compute));  // receive_of_ints
  check(ncclGroupEnd());
  wait(r);
}

void collectives_in_another_order(course::Call& call) {
  Rank r(call);
  const auto reduce = [&] {
    check(ncclAllReduce(r.x, r.y, n, ncclFloat, ncclSum, r.comm, r.compute));  // reduce
  };
  if (r.rank > 0) reduce();
  check(ncclBroadcast(r.x, r.z, n, ncclFloat, 0, r.comm, r.compute));  // broadcast
  if (r.rank == 0) reduce();
  wait(r);
}

void another_collective(course::Call& call) {
  Rank r(call);
  if (r.rank == 0) {
    check(ncclBroadcast(r.x, r.z, n, ncclFloat, 0, r.comm, r.compute));  // instead
  } else {
    check(ncclAllReduce(r.x, r.y, n, ncclFloat, ncclSum, r.comm, r.compute));  // by_the_others
  }
  wait(r);
}

__global__ void reads_early(const float* from, float* to) {
  to[threadIdx.x] = from[threadIdx.x];  // reads_early
}
void compute_does_not_wait(course::Call& call) {
  Rank r(call);
  exchange(r, r.x, r.y, r.transfer);
  reads_early<<<1, n, 0, r.compute>>>(r.y, r.z);
  wait(r);
}

__global__ void writes_early(float* to) {
  to[threadIdx.x] = 1;  // writes_early
}
void send_buffer_is_written(course::Call& call) {
  Rank r(call);
  exchange(r, r.x, r.y, r.transfer);
  writes_early<<<1, n, 0, r.compute>>>(r.x);
  wait(r);
}

void transfer_does_not_wait_for_a_reader(course::Call& call) {
  Rank r(call);
  reads_early<<<1, n, 0, r.compute>>>(r.y, r.z);
  exchange(r, r.x, r.y, r.transfer);
  wait(r);
}

/// The host's own order orders nothing on the device.
void receive_over_the_send_buffer(course::Call& call) {
  Rank r(call);
  exchange(r, r.x, r.x + n / 2, r.transfer);
  wait(r);
}

void freed_on_another_stream(course::Call& call) {
  Rank r(call);
  float* room = nullptr;
  check(cudaMallocAsync(&room, bytes, r.transfer));
  exchange(r, r.x, room, r.transfer);
  check(cudaFreeAsync(room, r.compute));  // freed_early
  cudaStreamSynchronize(r.transfer);
}

/// In stream order before its use, and carried out behind the call: the others let nothing come before.
void used_behind_its_end(course::Call& call) {
  Rank r(call);
  float* room = nullptr;
  check(cudaMalloc(&room, bytes));
  if (r.rank > 0) MPI_Barrier(r.mpi);
  exchange(r, r.x, r.y, r.transfer);
  check(cudaFreeAsync(room, r.transfer));  // freed_in_order
  exchange(r, r.x, room, r.transfer);
  if (r.rank == 0) MPI_Barrier(r.mpi);
  cudaStreamSynchronize(r.transfer);
}

void send_to_oneself(course::Call& call) {
  Rank r(call);
  const ncclResult_t result = ncclSend(r.x, n, ncclFloat, r.rank, r.comm, r.compute);  // to_oneself
  if (result != ncclInvalidUsage) throw std::runtime_error(ncclGetErrorString(result));
}

/// One wrong call of a group, and nothing of it is carried out.
void wrong_call_in_a_group(course::Call& call) {
  Rank r(call);
  check(ncclGroupStart());
  send_to_next(r, r.x, r.compute);
  const ncclResult_t result = ncclRecv(r.y, n, ncclFloat, r.size, r.comm, r.compute);  // no_such_rank
  if (result != ncclInvalidArgument || ncclGroupEnd() != ncclInvalidArgument)
    throw std::runtime_error(ncclGetErrorString(result));
  wait(r);
}

void host_memory(course::Call& call) {
  Rank r(call);
  float numbers[n];
  const ncclResult_t result = ncclBroadcast(r.x, numbers, n, ncclFloat, 0, r.comm, r.compute);  // to_the_host
  if (result != ncclInvalidArgument) throw std::runtime_error(ncclGetErrorString(result));
}

void beyond_the_end(course::Call& call) {
  Rank r(call);
  const ncclResult_t result = ncclAllGather(r.x, r.y + 2 * n, n, ncclFloat, r.comm, r.compute);  // too_long
  if (result != ncclInvalidArgument) throw std::runtime_error(ncclGetErrorString(result));
}

void communicator_is_used_behind_its_end(course::Call& call) {
  Rank r(call);
  check(ncclCommDestroy(r.comm));
  const ncclResult_t result = ncclSend(r.x, n, ncclFloat, r.next(), r.comm, r.compute);  // destroyed
  r.comm = nullptr;
  if (result != ncclInvalidArgument) throw std::runtime_error(ncclGetErrorString(result));
}

void group_is_ended_twice(course::Call& call) {
  Rank r(call);
  exchange(r, r.x, r.y, r.compute);
  if (ncclGroupEnd() != ncclInvalidUsage) throw std::runtime_error("ncclGroupEnd");
  wait(r);
}

void group_has_no_end(course::Call& call) {
  Rank r(call);
  exchange(r, r.x, r.y, r.compute);
  wait(r);
  check(ncclGroupStart());  // left_open
}

void communicator_is_ended_twice(course::Call& call) {
  Rank r(call);
  check(ncclCommDestroy(r.comm));  // first_end
}

void refused_calls(course::Call& call) {
  Rank r(call);
  const auto is_refused = [](ncclResult_t result, ncclResult_t expected = ncclInvalidArgument) {
    if (result != expected) throw std::runtime_error(ncclGetErrorString(result));
  };
  cudaStream_t gone = nullptr;
  check(cudaStreamCreate(&gone));
  check(cudaStreamDestroy(gone));
  is_refused(ncclSend(r.x, n, ncclFloat, r.next(), r.comm, gone));                   // stream_is_gone
  is_refused(ncclAllReduce(r.x, r.y, n, ncclBfloat16, ncclSum, r.comm, r.compute));  // bfloat16
  ncclComm_t comm = nullptr;
  const ncclUniqueId empty{};
  is_refused(ncclCommInitRank(&comm, 1, empty, 0));  // empty_id
  check(ncclGroupStart());
  is_refused(ncclCommInitRank(&comm, 1, empty, 0), ncclInvalidUsage);  // init_in_a_group
  check(ncclGroupEnd());
}

void id_is_not_handed_on(course::Call& call) {
  const MPI_Comm mpi = call.communicator<MPI_Comm>();
  int rank = 0, size = 0;
  MPI_Comm_rank(mpi, &rank);
  MPI_Comm_size(mpi, &size);
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  check(ncclGetUniqueId(&id));
  check(ncclCommInitRank(&comm, size, id, rank));
}

/// Of an id each other rank has the first eight bytes, and of one that was made earlier the rest.
void id_is_cut_short(course::Call& call) {
  const MPI_Comm mpi = call.communicator<MPI_Comm>();
  int rank = 0, size = 0;
  MPI_Comm_rank(mpi, &rank);
  MPI_Comm_size(mpi, &size);
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  for (const int bytes : {128, 8}) {
    if (rank == 0) check(ncclGetUniqueId(&id));
    MPI_Bcast(&id, bytes, MPI_BYTE, 0, mpi);
  }
  if (rank > 0 && ncclCommInitRank(&comm, size, id, rank) != ncclInvalidArgument)  // cut_short
    throw std::runtime_error("a part of an id was taken");
}

/// Right when it is played first; then the other ranks still have the id of that time.
void id_of_an_earlier_case(course::Call& call) {
  const MPI_Comm mpi = call.communicator<MPI_Comm>();
  int rank = 0, size = 0;
  MPI_Comm_rank(mpi, &rank);
  MPI_Comm_size(mpi, &size);
  static ncclUniqueId id;
  static bool handed_on = false;
  ncclComm_t comm = nullptr;
  if (rank == 0) check(ncclGetUniqueId(&id));
  if (!handed_on) MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, mpi);
  const ncclResult_t result = ncclCommInitRank(&comm, size, id, rank);  // earlier_id
  if (result != (handed_on ? ncclInvalidArgument : ncclSuccess))
    throw std::runtime_error(ncclGetErrorString(result));
  if (!handed_on) check(ncclCommDestroy(comm));
  handed_on = true;
}

void two_take_one_rank(course::Call& call) {
  const MPI_Comm mpi = call.communicator<MPI_Comm>();
  int rank = 0, size = 0;
  MPI_Comm_rank(mpi, &rank);
  MPI_Comm_size(mpi, &size);
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  if (rank == 0) check(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, mpi);
  const ncclResult_t result = ncclCommInitRank(&comm, size, id, rank / 2);  // rank_halved
  if (result != ncclInvalidArgument) throw std::runtime_error(ncclGetErrorString(result));
}

/// The others wait for what this rank has not sent.
void one_throws(course::Call& call) {
  Rank r(call);
  if (r.rank == 1) throw std::runtime_error("rank 1 gives up");
  exchange(r, r.x, r.y, r.transfer);
  wait(r);
}

}  // namespace

course::Adapter wrong_programs() {
  return {{"send_first", send_first},
          {"receive_first", receive_first},
          {"send_first_on_two_streams", send_first_on_two_streams},
          {"send_first_behind_an_event", send_first_behind_an_event},
          {"send_without_receive", send_without_receive},
          {"collective_without_the_last_rank", collective_without_the_last_rank},
          {"nobody_waits", nobody_waits},
          {"sizes_that_differ", sizes_that_differ},
          {"types_that_differ", types_that_differ},
          {"collectives_in_another_order", collectives_in_another_order},
          {"another_collective", another_collective},
          {"compute_does_not_wait", compute_does_not_wait},
          {"send_buffer_is_written", send_buffer_is_written},
          {"transfer_does_not_wait_for_a_reader", transfer_does_not_wait_for_a_reader},
          {"receive_over_the_send_buffer", receive_over_the_send_buffer},
          {"freed_on_another_stream", freed_on_another_stream},
          {"used_behind_its_end", used_behind_its_end},
          {"refused_calls", refused_calls},
          {"send_to_oneself", send_to_oneself},
          {"wrong_call_in_a_group", wrong_call_in_a_group},
          {"host_memory", host_memory},
          {"beyond_the_end", beyond_the_end},
          {"communicator_is_used_behind_its_end", communicator_is_used_behind_its_end},
          {"group_is_ended_twice", group_is_ended_twice},
          {"group_has_no_end", group_has_no_end},
          {"communicator_is_ended_twice", communicator_is_ended_twice},
          {"id_is_not_handed_on", id_is_not_handed_on},
          {"id_is_cut_short", id_is_cut_short},
          {"id_of_an_earlier_case", id_of_an_earlier_case},
          {"two_take_one_rank", two_take_one_rank},
          {"one_throws", one_throws}};
}

}  // namespace nccl_programs
