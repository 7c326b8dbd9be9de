// wrong: delta is multiplied by one over the root of head_dim, as if it were a score; it is the plain o . d_o
// line: delta = scale * as_rows(o).cwiseProduct(as_rows(d_o)).rowwise().sum();
// rating: led
#include "ring_backward.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

namespace {

using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const Rows> as_rows(HeadsView<const float> x) {
  return {x.data(), x.heads() * x.seq(), x.head_dim()};
}

// One block with its gradients, on its way.
class Traveller {
 public:
  Traveller(Index heads, Index longest, Index head_dim)
      : heads_(heads), head_dim_(head_dim), numbers_(4 * heads * longest * head_dim) {}

  // 0 is k, 1 is v, 2 is dk, 3 is dv
  HeadsView<float> part(int which, Index tokens) {
    const Index room = static_cast<Index>(numbers_.size()) / 4;
    return {numbers_.data() + which * room, heads_, tokens, head_dim_};
  }

 private:
  Index heads_;
  Index head_dim_;
  std::vector<float> numbers_;
};

}  // namespace

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  Traffic traffic;
  const int P = static_cast<int>(shard_tokens.size());
  if (P < 2) return traffic;
  for (int r = 0; r < P; ++r) {
    const std::int64_t bytes = std::int64_t{shard_tokens[r]} * heads * head_dim * 4 * 2;
    traffic.gradients += bytes;
    if (r != (rank + 1) % P) traffic.keys_values += bytes;  // that block comes last and stays
  }
  return traffic;
}

void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  int rank = -1, size = -1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int to = rank + 1 == size ? 0 : rank + 1;
  const int from = rank == 0 ? size - 1 : rank - 1;

  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  Eigen::VectorXf delta(q.heads() * q.seq());
  delta = scale * as_rows(o).cwiseProduct(as_rows(d_o)).rowwise().sum();
  const MatrixView<const float> d_view(delta.data(), q.heads(), q.seq());

  std::fill_n(dq.data(), dq.size(), 0.0f);
  std::fill_n(dk.data(), dk.size(), 0.0f);
  std::fill_n(dv.data(), dv.size(), 0.0f);
  block.accumulate(q, k, v, d_o, lse, d_view, rank, dq, dk, dv);
  if (size == 1) return;

  const Index longest = *std::max_element(shard_tokens.begin(), shard_tokens.end());
  Traveller one(k.heads(), longest, k.head_dim());
  Traveller two(k.heads(), longest, k.head_dim());
  Traveller* arriving = &one;
  Traveller* spare = &two;

  HeadsView<const float> block_k = k, block_v = v;
  HeadsView<float> block_dk = dk, block_dv = dv;
  const auto exchange = [&](HeadsView<const float> out, HeadsView<float> in) {
    MPI_Request send;
    MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_FLOAT, to, 7, comm, &send);
    MPI_Recv(in.data(), static_cast<int>(in.size()), MPI_FLOAT, from, 7, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
  };

  int owner = rank;
  for (int left_to_do = size - 1; left_to_do > 0; --left_to_do) {
    owner = owner == 0 ? size - 1 : owner - 1;
    const Index tokens = shard_tokens[owner];
    exchange(block_k, arriving->part(0, tokens));
    exchange(block_v, arriving->part(1, tokens));
    exchange(block_dk, arriving->part(2, tokens));
    exchange(block_dv, arriving->part(3, tokens));
    block_k = arriving->part(0, tokens);
    block_v = arriving->part(1, tokens);
    block_dk = arriving->part(2, tokens);
    block_dv = arriving->part(3, tokens);
    std::swap(arriving, spare);
    block.accumulate(q, block_k, block_v, d_o, lse, d_view, owner, dq, block_dk, block_dv);
  }
  exchange(block_dk, dk);
  exchange(block_dv, dv);
}

}  // namespace lesson07
