#include <algorithm>
#include <vector>

#include "ring_backward.hpp"

namespace lesson07 {

using course::HeadsView;
using course::Index;

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  Index all = 0;
  for (const int tokens : shard_tokens) all += tokens;
  const Index next = shard_tokens[rank + 1 == std::ssize(shard_tokens) ? 0 : rank + 1];
  const Index token = 2 * 4 * heads * head_dim;
  return {token * (all - next), shard_tokens.size() > 1 ? token * all : 0};
}

// One buffer a tensor: MPI keeps what is sent until it is gone. Both counts of MPI_Sendrecv_replace are the
// same, so every message is as long as the largest shard.
void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, course::MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const int world_size = static_cast<int>(shard_tokens.size());
  const int next = (rank + 1) % world_size;
  const int previous = (rank + world_size - 1) % world_size;
  std::vector<double> sums(o.heads() * o.seq());
  for (Index i = 0; i < o.size(); ++i) sums[i / o.head_dim()] += double{o.data()[i]} * d_o.data()[i];
  const std::vector<float> delta(sums.begin(), sums.end());
  std::fill_n(dq.data(), dq.size(), 0.0f);

  const Index largest = *std::ranges::max_element(shard_tokens) * q.heads() * q.head_dim();
  std::vector<float> held_k(largest), held_v(largest), held_dk(largest), held_dv(largest);
  std::copy_n(k.data(), k.size(), held_k.begin());
  std::copy_n(v.data(), v.size(), held_v.begin());
  const auto pass_on = [&](std::vector<float>& held) {
    MPI_Sendrecv_replace(held.data(), static_cast<int>(largest), MPI_FLOAT, next, 0, previous, 0, comm,
                         MPI_STATUS_IGNORE);
  };
  for (int hop = 0; hop < world_size; ++hop) {
    const int owner = (rank - hop + world_size) % world_size;
    const auto view = [&](std::vector<float>& held) {
      return HeadsView<float>(held.data(), q.heads(), shard_tokens[owner], q.head_dim());
    };
    block.accumulate(q, view(held_k), view(held_v), d_o, lse, {delta.data(), q.heads(), q.seq()}, owner, dq,
                     view(held_dk), view(held_dv));
    if (world_size == 1) break;
    if (hop < world_size - 1) {
      pass_on(held_k);
      pass_on(held_v);
    }
    pass_on(held_dk);
    pass_on(held_dv);
  }
  std::copy_n(held_dk.begin(), dk.size(), dk.data());
  std::copy_n(held_dv.begin(), dv.size(), dv.data());
}

}  // namespace lesson07
