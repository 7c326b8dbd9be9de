#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cuda_ring.hpp"
#include "gpu/device_block_log.hpp"
#include "gpu/device_tensor.hpp"
#include "lesson/nccl_check.hpp"
#include "player/adapter.hpp"

namespace {

using course::DeviceTensor;
using course::Index;
using course::Tensor;
using lesson12::Shards;

/// A rank's queries, and how many keys a block has.
struct Extents {
  int queries, keys, head_dim;
  float scale;
};

__device__ float dot(const float* a, const float* b, int count) {
  float sum = 0.0f;
  for (int c = 0; c < count; ++c) sum += a[c] * b[c];
  return sum;
}

/// A block of threads for each query, a thread for each column.
__global__ void see_block(const float* q, const float* k, const float* v, float* m, float* l, float* o,
                          Extents of) {
  const int row = blockIdx.x, first_key = row / of.queries * of.keys, col = threadIdx.x;
  float largest = m[row], sum = l[row], out = o[row * of.head_dim + col];
  for (int j = first_key; j < first_key + of.keys; ++j) {
    const float score = of.scale * dot(q + row * of.head_dim, k + j * of.head_dim, of.head_dim);
    const float grown = fmaxf(largest, score), keep = expf(largest - grown), weight = expf(score - grown);
    out = keep * out + weight * v[j * of.head_dim + col];
    sum = keep * sum + weight;
    largest = grown;
  }
  o[row * of.head_dim + col] = out;
  __syncthreads();
  if (col > 0) return;
  m[row] = largest;
  l[row] = sum;
}

__global__ void finish_rows(const float* m, const float* l, float* o, float* lse, int head_dim) {
  const int row = blockIdx.x, col = threadIdx.x;
  o[row * head_dim + col] = l[row] > 0.0f ? o[row * head_dim + col] / l[row] : 0.0f;
  if (col == 0) lse[row] = m[row] + logf(l[row]);
}

/// The inputs of the backward pass that stay.
struct Rows {
  const float *q, *d_o, *lse, *delta;
};

/// The gradient of a score, and its weight.
__device__ float2 score_gradient(const Rows& rows, const float* k, const float* v, int row, int key,
                                 const Extents& of) {
  const int d = of.head_dim;
  const float weight = expf(of.scale * dot(rows.q + row * d, k + key * d, d) - rows.lse[row]);
  return {of.scale * weight * (dot(rows.d_o + row * d, v + key * d, d) - rows.delta[row]), weight};
}

__global__ void add_to_dq(Rows rows, const float* k, const float* v, float* dq, Extents of) {
  const int row = blockIdx.x, first_key = row / of.queries * of.keys, col = threadIdx.x;
  float sum = dq[row * of.head_dim + col];
  for (int j = first_key; j < first_key + of.keys; ++j)
    sum += score_gradient(rows, k, v, row, j, of).x * k[j * of.head_dim + col];
  dq[row * of.head_dim + col] = sum;
}

__global__ void add_to_dk_and_dv(Rows rows, const float* k, const float* v, float* dk, float* dv,
                                 Extents of) {
  const int key = blockIdx.x, first_row = key / of.keys * of.queries, col = threadIdx.x;
  float sum_k = dk[key * of.head_dim + col], sum_v = dv[key * of.head_dim + col];
  for (int row = first_row; row < first_row + of.queries; ++row) {
    const float2 gradient = score_gradient(rows, k, v, row, key, of);
    sum_k += gradient.x * rows.q[row * of.head_dim + col];
    sum_v += gradient.y * rows.d_o[row * of.head_dim + col];
  }
  dk[key * of.head_dim + col] = sum_k;
  dv[key * of.head_dim + col] = sum_v;
}

/// While it lives, what the host calls has a name, by which the judge knows it.
class Named {
 public:
  explicit Named(const std::string& name) { nvtxRangePushA(name.c_str()); }
  ~Named() { nvtxRangePop(); }
  Named(const Named&) = delete;
  Named& operator=(const Named&) = delete;
};

Named work_on(int owner) {
  return Named("block of rank " + std::to_string(owner));
}

/// The ranks take the devices that they see in turn.
void choose_device(MPI_Comm mpi) {
  int rank = 0, devices = 0;
  MPI_Comm_rank(mpi, &rank);
  course::cuda_check(cudaGetDeviceCount(&devices));
  course::cuda_check(cudaSetDevice(rank % devices));
}

/// NCCL's communicator, as the lesson makes it.
class Communicator {
 public:
  explicit Communicator(const course::Call& call) : comm_(lesson12::connect(call.communicator<MPI_Comm>())) {}
  ~Communicator() { ncclCommDestroy(comm_); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ncclComm_t get() const { return comm_; }

 private:
  ncclComm_t comm_;
};

/// What both passes have in common: a rank's stream and shard on its device.
struct Rank {
  explicit Rank(const course::Call& call)
      : q(call.input("q")),
        tokens(call.integers("shard_tokens")),
        log(tokens, q.extent(0), q.extent(2), stream),
        communicator(call) {}

  Shards shards() const { return {tokens, static_cast<int>(q.extent(0)), static_cast<int>(q.extent(2))}; }
  Extents of(int owner) const {
    const int head_dim = static_cast<int>(q.extent(2));
    return {static_cast<int>(q.extent(1)), tokens.at(owner), head_dim,
            1 / std::sqrt(static_cast<float>(head_dim))};
  }
  unsigned rows() const { return static_cast<unsigned>(q.extent(0) * q.extent(1)); }
  unsigned keys(int owner) const { return static_cast<unsigned>(q.extent(0) * tokens[owner]); }
  unsigned cols() const { return static_cast<unsigned>(q.extent(2)); }

  const Tensor& q;
  std::vector<int> tokens;
  course::Stream stream;
  course::DeviceBlockLog log;
  Communicator communicator;
};

void write_log(course::Call& call, course::DeviceBlockLog& log) {
  Tensor rows = log.read();
  call.output(block_log::output, rows.shape()) = std::move(rows);
}

void connect(course::Call& call) {
  choose_device(call.communicator<MPI_Comm>());
  const course::Stream stream;
  const Communicator communicator(call);
  const MPI_Comm mpi = call.communicator<MPI_Comm>();
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
  choose_device(call.communicator<MPI_Comm>());
  Rank rank(call);
  const course::Stream& stream = rank.stream;
  Tensor& o = call.output("o", rank.q.shape());
  Tensor& lse = call.output("lse", {rank.q.extent(0), rank.q.extent(1)});
  const Tensor nothing_seen(lse.shape(), -std::numeric_limits<float>::infinity());
  const DeviceTensor q(rank.q, stream), k(call.input("k"), stream), v(call.input("v"), stream);
  const DeviceTensor m(nothing_seen, stream), l(Tensor(lse.shape()), stream), out(Tensor(o.shape()), stream);
  const DeviceTensor device_lse(lse, stream);
  const auto accumulate = [&](const float* block_k, const float* block_v, int owner, cudaStream_t in) {
    const Named work = work_on(owner);
    rank.log.enter(block_k, block_v, owner, in);
    if (rank.rows() == 0 || rank.keys(owner) == 0) return;
    see_block<<<rank.rows(), rank.cols(), 0, in>>>(q.data(), block_k, block_v, m.data(), l.data(), out.data(),
                                                   rank.of(owner));
    course::cuda_check(cudaGetLastError());
  };
  const auto finish = [&](cudaStream_t in) {
    if (rank.rows() == 0) return;
    finish_rows<<<rank.rows(), rank.cols(), 0, in>>>(m.data(), l.data(), out.data(), device_lse.data(),
                                                     static_cast<int>(rank.cols()));
    course::cuda_check(cudaGetLastError());
  };
  const Named ring("the ring");
  lesson12::ring_attention(k.data(), v.data(), rank.shards(), {accumulate, finish}, rank.communicator.get(),
                           stream.get());
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
  choose_device(call.communicator<MPI_Comm>());
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
    const Named work = work_on(owner);
    rank.log.enter(block_k, block_v, owner, in);
    if (rank.rows() == 0 || rank.keys(owner) == 0) return;
    add_to_dq<<<rank.rows(), rank.cols(), 0, in>>>(rows, block_k, block_v, device_dq.data(), rank.of(owner));
    add_to_dk_and_dv<<<rank.keys(owner), rank.cols(), 0, in>>>(rows, block_k, block_v, block_dk, block_dv,
                                                               rank.of(owner));
    course::cuda_check(cudaGetLastError());
  };
  const Named ring("the ring");
  lesson12::ring_backward(k.data(), v.data(), device_dk.data(), device_dv.data(), rank.shards(), {accumulate},
                          rank.communicator.get(), stream.get());
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
