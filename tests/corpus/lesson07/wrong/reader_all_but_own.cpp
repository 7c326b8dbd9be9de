// wrong: in task 1 the block whose K and V are never passed on is taken to be the own one; it is that of rank + 1
// line: traffic.keys_values = row_bytes * (all_tokens - shard_tokens[rank]);
// mistake: wrong_block_left_out
#include "ring_backward.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  Traffic traffic;
  if (shard_tokens.size() == 1) return traffic;
  const auto all_tokens = std::accumulate(shard_tokens.begin(), shard_tokens.end(), std::int64_t{0});
  const auto row_bytes = static_cast<std::int64_t>(2 * sizeof(float)) * heads * head_dim;
  traffic.keys_values = row_bytes * (all_tokens - shard_tokens[rank]);
  traffic.gradients = row_bytes * all_tokens;
  return traffic;
}

// The version with a hop less: the own share waits in dk and dv, the travelling sum begins on rank + 1.
void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  int rank = 0, world = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &world);
  const int right = (rank + 1) % world;
  const int left = (rank + world - 1) % world;
  const Index width = k.heads() * k.head_dim();

  std::vector<float> delta_of(q.heads() * q.seq(), 0.0f);
  const MatrixView<float> delta(delta_of.data(), q.heads(), q.seq());
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) {
      const std::span<const float> out = o.head(h).row(i);
      const std::span<const float> grad = d_o.head(h).row(i);
      delta(h, i) = std::inner_product(out.begin(), out.end(), grad.begin(), 0.0f);
    }
  }
  std::fill_n(dq.data(), dq.size(), 0.0f);
  std::fill_n(dk.data(), dk.size(), 0.0f);
  std::fill_n(dv.data(), dv.size(), 0.0f);
  block.accumulate(q, k, v, d_o, lse, delta, rank, dq, dk, dv);
  if (world == 1) return;

  const auto longest = static_cast<std::size_t>(
      width * *std::max_element(shard_tokens.begin(), shard_tokens.end()));
  std::vector<float> keys[2], values[2], d_keys[2], d_values[2];
  for (int i : {0, 1}) {
    keys[i].resize(longest);
    values[i].resize(longest);
    d_keys[i].resize(longest);
    d_values[i].resize(longest);
  }
  const auto rotate = [&](const float* from, float* to, int owner_out, int owner_in) {
    const int out = static_cast<int>(width * shard_tokens[owner_out]);
    const int in = static_cast<int>(width * shard_tokens[owner_in]);
    MPI_Sendrecv(from, out, MPI_FLOAT, right, 0, to, in, MPI_FLOAT, left, 0, comm, MPI_STATUS_IGNORE);
  };

  int here = 0;
  rotate(k.data(), keys[here].data(), rank, left);
  rotate(v.data(), values[here].data(), rank, left);
  int owner = left;
  while (true) {
    const Index n = shard_tokens[owner];
    block.accumulate(q, {keys[here].data(), k.heads(), n, k.head_dim()},
                     {values[here].data(), k.heads(), n, k.head_dim()}, d_o, lse, delta, owner, dq,
                     {d_keys[here].data(), k.heads(), n, k.head_dim()},
                     {d_values[here].data(), k.heads(), n, k.head_dim()});
    const int arriving = (owner + world - 1) % world;
    const int there = 1 - here;
    if (arriving != rank) {
      rotate(keys[here].data(), keys[there].data(), owner, arriving);
      rotate(values[here].data(), values[there].data(), owner, arriving);
    }
    rotate(d_keys[here].data(), d_keys[there].data(), owner, arriving);
    rotate(d_values[here].data(), d_values[there].data(), owner, arriving);
    here = there;
    owner = arriving;
    if (owner == rank) break;
  }
  for (Index i = 0; i < dk.size(); ++i) dk.data()[i] += d_keys[here][i];
  for (Index i = 0; i < dv.size(); ++i) dv.data()[i] += d_values[here][i];
}

}  // namespace lesson07
