// right: one hop less for dk and dv, in packed messages that are padded to the largest shard and turn with MPI_Sendrecv_replace
#include "ring_backward.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <numeric>

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// All numbers of a tensor in one line.
Eigen::Map<Eigen::ArrayXf> flat(HeadsView<float> x) {
  return {x.data(), x.size()};
}

Eigen::Map<const Eigen::ArrayXf> flat(HeadsView<const float> x) {
  return {x.data(), x.size()};
}

}  // namespace

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  if (shard_tokens.size() == 1) return {};
  const std::size_t right = (rank + 1) % shard_tokens.size();
  const std::int64_t bytes = std::int64_t{8} * heads * head_dim;
  const std::int64_t home =
      bytes * std::accumulate(shard_tokens.begin(), shard_tokens.end(), std::int64_t{0});
  return {.keys_values = home - bytes * shard_tokens[right], .gradients = home};
}

void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  int r, P;
  MPI_Comm_rank(comm, &r);
  MPI_Comm_size(comm, &P);
  const Index H = k.heads(), n = k.seq(), d = k.head_dim();

  const Eigen::Map<const Matrix> outputs(o.data(), H * n, d), d_outputs(d_o.data(), H * n, d);
  const Eigen::VectorXf D = outputs.cwiseProduct(d_outputs).rowwise().sum();
  const MatrixView<const float> delta(D.data(), H, n);

  flat(dq).setZero();
  flat(dk).setZero();
  flat(dv).setZero();
  block.accumulate(q, k, v, d_o, lse, delta, r, dq, dk, dv);  // the own share waits here
  if (P == 1) return;

  // [K, V] and [dK, dV], each half as long as the largest shard's tensor.
  const Index half = H * d * *std::max_element(shard_tokens.begin(), shard_tokens.end());
  Eigen::ArrayXf keys_values = Eigen::ArrayXf::Zero(2 * half);
  Eigen::ArrayXf sums = Eigen::ArrayXf::Zero(2 * half);
  keys_values.segment(0, k.size()) = flat(k);
  keys_values.segment(half, v.size()) = flat(v);

  const auto turn = [&](Eigen::ArrayXf& message) {
    MPI_Sendrecv_replace(message.data(), static_cast<int>(message.size()), MPI_FLOAT, (r + 1) % P, 0,
                         (r + P - 1) % P, 0, comm, MPI_STATUS_IGNORE);
  };
  for (int hop = 1; hop < P; ++hop) {
    turn(keys_values);
    if (hop > 1) turn(sums);  // at hop 1 a sum has not begun
    const int owner = (r + P - hop) % P;
    const Index tokens = shard_tokens[owner];
    block.accumulate(q, HeadsView<const float>(keys_values.data(), H, tokens, d),
                     HeadsView<const float>(keys_values.data() + half, H, tokens, d), d_o, lse, delta, owner,
                     dq, HeadsView<float>(sums.data(), H, tokens, d),
                     HeadsView<float>(sums.data() + half, H, tokens, d));
  }
  turn(sums);
  flat(dk) += sums.segment(0, dk.size());
  flat(dv) += sums.segment(half, dv.size());
}

}  // namespace lesson07
