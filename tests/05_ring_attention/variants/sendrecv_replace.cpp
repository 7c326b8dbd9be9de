#include <algorithm>
#include <vector>

#include "ring_attention.hpp"

namespace lesson05 {

int block_owner(int rank, int hop, int world_size) {
  const int steps = rank - hop;
  return steps < 0 ? steps + world_size : steps;
}

// One buffer: MPI keeps what is sent until it is gone. Both counts of MPI_Sendrecv_replace are the same, so
// every message is as long as the largest shard.
void ring_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                    course::HeadsView<const float> v, course::HeadsView<float> o,
                    course::MatrixView<float> lse, std::span<const int> shard_tokens,
                    const course::BlockAttention& block, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const int world_size = static_cast<int>(shard_tokens.size());
  const int next = (rank + 1) % world_size;
  const int previous = (rank + world_size - 1) % world_size;
  const course::Index largest = *std::ranges::max_element(shard_tokens) * q.heads() * q.head_dim();
  std::vector<float> held_k(largest);
  std::vector<float> held_v(largest);
  std::copy_n(k.data(), k.size(), held_k.begin());
  std::copy_n(v.data(), v.size(), held_v.begin());

  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  for (int hop = 0; hop < world_size; ++hop) {
    if (hop > 0) {
      for (std::vector<float>* held : {&held_k, &held_v}) {
        MPI_Sendrecv_replace(held->data(), static_cast<int>(largest), MPI_FLOAT, next, 0, previous, 0, comm,
                             MPI_STATUS_IGNORE);
      }
    }
    const int owner = block_owner(rank, hop, world_size);
    block.accumulate(q, {held_k.data(), q.heads(), shard_tokens[owner], q.head_dim()},
                     {held_v.data(), q.heads(), shard_tokens[owner], q.head_dim()}, owner, state);
  }
  block.finish(state, o, lse);
}

}  // namespace lesson05
