#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cuda_ring.hpp"
#include "gpu/device_block_log.hpp"
#include "gpu/device_tensor.hpp"
#include "gpu/plain_block_kernels.hpp"
#include "gpu/rank_device.hpp"
#include "lesson/nccl_check.hpp"
#include "player/adapter.hpp"

namespace {

using course::DeviceTensor;
using course::Index;
using course::Tensor;
using course::plain_blocks::Extents;
using course::plain_blocks::Rows;
using lesson12::Shards;

course::NamedCalls work_on(int owner) {
  return course::NamedCalls(course::work_on_block_of + std::to_string(owner));
}

/// NCCL's communicator, as the lesson makes it.
class Communicator {
 public:
  explicit Communicator(MPI_Comm mpi) : comm_(lesson12::connect(mpi)) {}
  ~Communicator() { ncclCommDestroy(comm_); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ncclComm_t get() const { return comm_; }

 private:
  ncclComm_t comm_;
};

/// Throws std::invalid_argument, the same on all ranks, where one has not the same rank in both: rings fail
/// then for no fault of theirs.
void require_same_ranks(ncclComm_t comm, MPI_Comm mpi) {
  int own = -1, size = 0;
  if (comm != nullptr) course::nccl_check(ncclCommUserRank(comm, &own));
  MPI_Comm_size(mpi, &size);
  std::vector<int> ranks(size);
  PMPI_Allgather(&own, 1, MPI_INT, ranks.data(), 1, MPI_INT, mpi);  // past the layer that counts
  for (int rank = 0; rank < size; ++rank) {
    if (ranks[rank] == rank) continue;
    const std::string given = ranks[rank] < 0 ? "no communicator" : "the rank " + std::to_string(ranks[rank]);
    throw std::invalid_argument("task 1, connect, gives rank " + std::to_string(rank) + " of `mpi` " + given +
                                ": rings of such ranks were not played");
  }
}

/// What both passes have in common: a rank's stream and shard on its device.
struct Rank {
  explicit Rank(const course::Call& call)
      : q(call.input("q")),
        tokens(call.integers("shard_tokens")),
        stream(call.is_set("waits_for_default") ? cudaStreamDefault : cudaStreamNonBlocking),
        log(tokens, q.extent(0), q.extent(2), stream),
        positions(call.is_set("causal") ? call.integers("positions") : std::vector<int>(), stream),
        is_causal(call.is_set("causal")),
        communicator(call.communicator<MPI_Comm>()) {
    require_same_ranks(communicator.get(), call.communicator<MPI_Comm>());
  }

  /// Throws std::invalid_argument where the ring hands `function` another stream than its own.
  void require_own(cudaStream_t given, const std::string& function) const {
    if (given != stream.get())
      throw std::invalid_argument(function + " is given another stream than `stream`");
  }

  Shards shards() const { return {tokens, static_cast<int>(q.extent(0)), static_cast<int>(q.extent(2))}; }
  Extents of(int owner) const {
    const int head_dim = static_cast<int>(q.extent(2));
    Extents extents{static_cast<int>(q.extent(1)), tokens.at(owner), head_dim,
                    1 / std::sqrt(static_cast<float>(head_dim))};
    if (!is_causal) return extents;
    int own = 0;
    ncclCommUserRank(communicator.get(), &own);
    extents.query_positions = positions_of(own);
    extents.key_positions = positions_of(owner);
    return extents;
  }
  /// In device memory.
  const int* positions_of(int owner) const {
    return positions.data() + std::accumulate(tokens.begin(), tokens.begin() + owner, 0);
  }
  unsigned rows() const { return static_cast<unsigned>(q.extent(0) * q.extent(1)); }
  unsigned keys(int owner) const { return static_cast<unsigned>(q.extent(0) * tokens[owner]); }
  unsigned cols() const { return static_cast<unsigned>(q.extent(2)); }

  const Tensor& q;
  std::vector<int> tokens;
  course::Stream stream;
  course::DeviceBlockLog log;
  course::DeviceArray<int> positions;  ///< of all ranks, one after another
  bool is_causal;
  Communicator communicator;
};

void write_log(course::Call& call, course::DeviceBlockLog& log) {
  Tensor rows = log.read();
  call.output(block_log::output, rows.shape()) = std::move(rows);
}

void connect(course::Call& call) {
  course::choose_device(call.communicator<MPI_Comm>());
  const course::Stream stream;
  const MPI_Comm mpi = call.communicator<MPI_Comm>();
  const Communicator communicator(mpi);
  int rank = 0, size = 0;
  MPI_Comm_rank(mpi, &rank);
  MPI_Comm_size(mpi, &size);
  Tensor& ranks = call.output("ranks", {1, size});
  Tensor own({1}, static_cast<float>(rank));
  const DeviceTensor device_own(own, stream), device_ranks(ranks, stream);
  course::nccl_check(
      ncclAllGather(device_own.data(), device_ranks.data(), 1, ncclFloat, communicator.get(), stream.get()));
  device_ranks.read(ranks, stream);
}

void ring_attention(course::Call& call) {
  course::choose_device(call.communicator<MPI_Comm>());
  Rank rank(call);
  const course::Stream& stream = rank.stream;
  Tensor& o = call.output("o", rank.q.shape());
  Tensor& lse = call.output("lse", {rank.q.extent(0), rank.q.extent(1)});
  const Tensor nothing_seen(lse.shape(), -std::numeric_limits<float>::infinity());
  const DeviceTensor q(rank.q, stream), k(call.input("k"), stream), v(call.input("v"), stream);
  const DeviceTensor m(nothing_seen, stream), l(Tensor(lse.shape()), stream), out(Tensor(o.shape()), stream);
  const DeviceTensor device_lse(lse, stream);
  const auto accumulate = [&](const float* block_k, const float* block_v, int owner, cudaStream_t in) {
    rank.require_own(in, "block.accumulate");
    const course::NamedCalls work = work_on(owner);
    rank.log.enter(block_k, block_v, owner, in);
    if (rank.rows() == 0 || rank.keys(owner) == 0) return;
    course::plain_blocks::see_block<<<rank.rows(), rank.cols(), 0, in>>>(
        q.data(), block_k, block_v, m.data(), l.data(), out.data(), rank.of(owner));
    course::cuda_check(cudaGetLastError());
  };
  bool has_finished = false;
  const auto finish = [&](cudaStream_t in) {
    rank.require_own(in, "block.finish");
    if (std::exchange(has_finished, true))
      throw std::invalid_argument("block.finish is called a second time; it comes once, behind all blocks");
    if (rank.rows() == 0) return;
    course::plain_blocks::finish_rows<<<rank.rows(), rank.cols(), 0, in>>>(
        m.data(), l.data(), out.data(), device_lse.data(), static_cast<int>(rank.cols()));
    course::cuda_check(cudaGetLastError());
  };
  {
    const course::NamedCalls ring("the ring");
    lesson12::ring_attention(k.data(), v.data(), rank.shards(), {accumulate, finish}, rank.communicator.get(),
                             stream.get());
  }
  out.read(o, stream);
  device_lse.read(lse, stream);
  write_log(call, rank.log);
}

/// delta_i = o_i . d_o_i.
Tensor row_deltas(const Tensor& o, const Tensor& d_o) {
  Tensor delta({o.extent(0), o.extent(1)});
  for (Index i = 0; i < o.size(); ++i) delta[i / o.extent(2)] += o[i] * d_o[i];
  return delta;
}

void ring_backward(course::Call& call) {
  course::choose_device(call.communicator<MPI_Comm>());
  Rank rank(call);
  const course::Stream& stream = rank.stream;
  const Tensor& d_o = call.input("d_o");
  Tensor &dq = call.output("dq", rank.q.shape()), &dk = call.output("dk", rank.q.shape()),
         &dv = call.output("dv", rank.q.shape());
  const DeviceTensor q(rank.q, stream), k(call.input("k"), stream), v(call.input("v"), stream);
  const DeviceTensor device_d_o(d_o, stream), lse(call.input("lse"), stream);
  const DeviceTensor delta(row_deltas(call.input("o"), d_o), stream);
  const DeviceTensor device_dq(Tensor(dq.shape()), stream), device_dk(dk, stream), device_dv(dv, stream);
  const Rows rows{q.data(), device_d_o.data(), lse.data(), delta.data()};
  const auto accumulate = [&](const float* block_k, const float* block_v, int owner, float* block_dk,
                              float* block_dv, cudaStream_t in) {
    rank.require_own(in, "block.accumulate");
    const course::NamedCalls work = work_on(owner);
    rank.log.enter(block_k, block_v, owner, in);
    if (rank.rows() == 0 || rank.keys(owner) == 0) return;
    course::plain_blocks::add_to_dq<<<rank.rows(), rank.cols(), 0, in>>>(rows, block_k, block_v,
                                                                         device_dq.data(), rank.of(owner));
    course::plain_blocks::add_to_dk_and_dv<<<rank.keys(owner), rank.cols(), 0, in>>>(
        rows, block_k, block_v, block_dk, block_dv, rank.of(owner));
    course::cuda_check(cudaGetLastError());
  };
  {
    const course::NamedCalls ring("the ring");
    lesson12::ring_backward(k.data(), v.data(), device_dk.data(), device_dv.data(), rank.shards(),
                            {accumulate}, rank.communicator.get(), stream.get());
  }
  device_dq.read(dq, stream);
  device_dk.read(dk, stream);
  device_dv.read(dv, stream);
  write_log(call, rank.log);
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{
      {"connect", connect}, {"ring_attention", ring_attention}, {"ring_backward", ring_backward}};
  return adapter;
}
