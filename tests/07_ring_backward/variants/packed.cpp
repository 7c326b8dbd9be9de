#include <algorithm>
#include <numeric>
#include <vector>

#include "ring_backward.hpp"

namespace lesson07 {

using course::HeadsView;
using course::Index;

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  const int world_size = static_cast<int>(shard_tokens.size());
  Traffic traffic;
  for (int hop = 0; world_size > 1 && hop < world_size; ++hop) {
    const int owner = (rank - hop + world_size) % world_size;
    const std::int64_t bytes = std::int64_t{8} * heads * head_dim * shard_tokens[owner];
    if (hop < world_size - 1) traffic.keys_values += bytes;
    traffic.gradients += bytes;
  }
  return traffic;
}

// Gradients and data in one buffer, gradients first, and so in one message a hop; the last hop leaves the
// keys and values out.
void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, course::MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  int rank = 0;
  int world_size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &world_size);
  std::vector<float> delta(o.heads() * o.seq());
  for (Index i = 0; i < o.size(); ++i) delta[i / o.head_dim()] += o.data()[i] * d_o.data()[i];
  std::fill_n(dq.data(), dq.size(), 0.0f);

  std::vector<float> held(2 * k.size());
  held.insert(held.end(), k.data(), k.data() + k.size());
  held.insert(held.end(), v.data(), v.data() + v.size());
  for (int hop = 0; hop < world_size; ++hop) {
    const int owner = (rank - hop + world_size) % world_size;
    const Index size = std::ssize(held) / 4;
    const auto part = [&](int which) {
      return HeadsView<float>(held.data() + which * size, q.heads(), shard_tokens[owner], q.head_dim());
    };
    block.accumulate(q, part(2), part(3), d_o, lse, {delta.data(), q.heads(), q.seq()}, owner, dq, part(0),
                     part(1));
    if (world_size == 1) break;
    const bool last = hop == world_size - 1;
    if (last) held.resize(2 * size);
    const int arriving_tokens = shard_tokens[(owner - 1 + world_size) % world_size];
    std::vector<float> arriving((last ? 2 : 4) * q.heads() * arriving_tokens * q.head_dim());
    MPI_Sendrecv(held.data(), static_cast<int>(held.size()), MPI_FLOAT, (rank + 1) % world_size, 0,
                 arriving.data(), static_cast<int>(arriving.size()), MPI_FLOAT,
                 (rank + world_size - 1) % world_size, 0, comm, MPI_STATUS_IGNORE);
    held.swap(arriving);
  }
  std::copy_n(held.data(), dk.size(), dk.data());
  std::copy_n(held.data() + dk.size(), dv.size(), dv.data());
}

}  // namespace lesson07
