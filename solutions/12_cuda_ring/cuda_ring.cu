#include <algorithm>
#include <utility>

#include "cuda_ring.hpp"
#include "lesson/cuda_check.hpp"
#include "lesson/nccl_check.hpp"
#include "lesson/not_implemented.hpp"

namespace lesson12 {

using course::cuda_check;
using course::nccl_check;

ncclComm_t connect(MPI_Comm mpi) {
  //> task 1
  //| // Who calls ncclGetUniqueId, and how does everybody else get what it returns?
  //| throw course::NotImplemented("task 1, connect");
  int rank = 0, size = 0;
  MPI_Comm_rank(mpi, &rank);
  MPI_Comm_size(mpi, &size);
  ncclUniqueId id;
  if (rank == 0) nccl_check(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, mpi);
  ncclComm_t comm = nullptr;
  nccl_check(ncclCommInitRank(&comm, size, id, rank));
  return comm;
  //< task 1
}

//> task 2
namespace {

struct Ring {
  explicit Ring(ncclComm_t communicator) : comm(communicator) {
    nccl_check(ncclCommUserRank(comm, &rank));
    nccl_check(ncclCommCount(comm, &size));
  }
  int next() const { return (rank + 1) % size; }
  int previous() const { return (rank + size - 1) % size; }
  /// Whose block is here after so many hops, hop <= size.
  int owner(int hop) const { return (rank + size - hop) % size; }

  ncclComm_t comm;
  int rank = 0;
  int size = 0;
};

/// A stream that waits for no other unless it is told to.
class Stream {
 public:
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  Stream() { cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  operator cudaStream_t() const { return stream_; }
  ~Stream() { cudaStreamDestroy(stream_); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// What one stream has come to, for another to wait for.
class Event {
 public:
  Event() { cuda_check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) const { cuda_check(cudaEventRecord(event_, stream)); }
  void hold(cudaStream_t stream) const { cuda_check(cudaStreamWaitEvent(stream, event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

/// How many numbers of k, or of v, a rank has.
std::size_t count(const Shards& shards, int rank) {
  return static_cast<std::size_t>(shards.heads) * shards.tokens[rank] * shards.head_dim;
}

/// Device memory for a pair of tensors of any rank's shard, from here to its end in the stream.
class Room {
 public:
  Room(const Shards& shards, cudaStream_t stream) : stream_(stream) {
    const auto largest = std::ranges::max_element(shards.tokens) - shards.tokens.begin();
    count_ = count(shards, static_cast<int>(largest));
    cuda_check(cudaMallocAsync(&memory_, 2 * count_ * sizeof(float), stream_));
  }
  ~Room() { cudaFreeAsync(memory_, stream_); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  float* first() const { return memory_; }
  float* second() const { return memory_ + count_; }

 private:
  cudaStream_t stream_;
  std::size_t count_ = 0;
  float* memory_ = nullptr;
};

struct Sent {
  const float* data;
  std::size_t count;
};
struct Received {
  float* data;
  std::size_t count;
};

/// A tensor to the next rank, and one from the previous; within a group.
void exchange(const Ring& ring, Sent held, Received arriving, cudaStream_t stream) {
  nccl_check(ncclSend(held.data, held.count, ncclFloat, ring.next(), ring.comm, stream));
  nccl_check(ncclRecv(arriving.data, arriving.count, ncclFloat, ring.previous(), ring.comm, stream));
}

}  // namespace

//< task 2
void ring_attention(const float* k, const float* v, const Shards& shards, const Block& block, ncclComm_t comm,
                    cudaStream_t stream) {
  //> task 2
  //| // Two streams, two rooms. Which event does the work on a block wait for? Which does the next transfer,
  //| // before it fills a room? What has to have happened before the rooms are freed?
  //| throw course::NotImplemented("task 2, ring_attention");
  const Ring ring(comm);
  const Room rooms[]{{shards, stream}, {shards, stream}};
  const Stream transfer;
  const Event arrived, computed;
  computed.record(stream);
  for (int hop = 0; hop < ring.size; ++hop) {
    const std::size_t held = count(shards, ring.owner(hop));
    const std::size_t arriving = count(shards, ring.owner(hop + 1));
    const Room& room = rooms[hop % 2];
    if (hop + 1 < ring.size) {
      computed.hold(transfer);
      nccl_check(ncclGroupStart());
      exchange(ring, {k, held}, {room.first(), arriving}, transfer);
      exchange(ring, {v, held}, {room.second(), arriving}, transfer);
      nccl_check(ncclGroupEnd());
      arrived.record(transfer);
    }
    block.accumulate(k, v, ring.owner(hop), stream);
    computed.record(stream);
    if (hop + 1 < ring.size) arrived.hold(stream);
    k = room.first();
    v = room.second();
  }
  block.finish(stream);
  //< task 2
}

//> task 3
namespace {

__global__ void add(float* to, const float* x, std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) to[i] += x[i];
}

void add_in_stream(float* to, const float* x, std::size_t count, cudaStream_t stream) {
  constexpr unsigned threads = 256;
  if (count == 0) return;
  add<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0, stream>>>(to, x, count);
  cuda_check(cudaGetLastError());
}

void clear(float* x, std::size_t count, cudaStream_t stream) {
  cuda_check(cudaMemsetAsync(x, 0, count * sizeof(float), stream));
}

}  // namespace

//< task 3
void ring_backward(const float* k, const float* v, float* dk, float* dv, const Shards& shards,
                   const BlockBackward& block, ncclComm_t comm, cudaStream_t stream) {
  //> task 3
  //| // Keys and values as in task 2. Which room is written to by a stream while the other one reads it? When
  //| // is a sum complete, and which event says so to the transfer that sends it on?
  //| throw course::NotImplemented("task 3, ring_backward");
  const Ring ring(comm);
  const Room rooms[]{{shards, stream}, {shards, stream}};
  const Room sums[]{{shards, stream}, {shards, stream}};  // this rank's share, then the sum up to it
  const Room before(shards, stream);                      // the sum of the ranks before
  const Stream transfer;
  const Event arrived, computed;
  computed.record(stream);
  for (int hop = 0; hop < ring.size; ++hop) {
    const std::size_t held = count(shards, ring.owner(hop));
    const std::size_t arriving = count(shards, ring.owner(hop + 1));
    const Room& room = rooms[hop % 2];
    const Room& sum = sums[hop % 2];
    const Room& summed = sums[(hop + 1) % 2];  // of the block of the hop before
    computed.hold(transfer);
    nccl_check(ncclGroupStart());
    if (hop + 1 < ring.size) {
      exchange(ring, {k, held}, {room.first(), arriving}, transfer);
      exchange(ring, {v, held}, {room.second(), arriving}, transfer);
    }
    if (hop > 0) {
      const std::size_t sent = count(shards, ring.owner(hop - 1));
      exchange(ring, {summed.first(), sent}, {before.first(), held}, transfer);
      exchange(ring, {summed.second(), sent}, {before.second(), held}, transfer);
    }
    nccl_check(ncclGroupEnd());
    arrived.record(transfer);
    clear(sum.first(), held, stream);
    clear(sum.second(), held, stream);
    block.accumulate(k, v, ring.owner(hop), sum.first(), sum.second(), stream);
    arrived.hold(stream);
    if (hop > 0) {
      add_in_stream(sum.first(), before.first(), held, stream);
      add_in_stream(sum.second(), before.second(), held, stream);
    }
    computed.record(stream);
    k = room.first();
    v = room.second();
  }

  // The next rank's block was the last one here: one more hop takes its gradients home.
  const Room& last = sums[(ring.size - 1) % 2];
  const std::size_t own = count(shards, ring.rank);
  if (ring.size == 1) {
    cuda_check(cudaMemcpyAsync(dk, last.first(), own * sizeof(float), cudaMemcpyDeviceToDevice, stream));
    cuda_check(cudaMemcpyAsync(dv, last.second(), own * sizeof(float), cudaMemcpyDeviceToDevice, stream));
    return;
  }
  const std::size_t next = count(shards, ring.next());
  nccl_check(ncclGroupStart());
  exchange(ring, {last.first(), next}, {dk, own}, stream);
  exchange(ring, {last.second(), next}, {dv, own}, stream);
  nccl_check(ncclGroupEnd());
  //< task 3
}

}  // namespace lesson12
