#include <algorithm>
#include <vector>

#include "ring_attention.hpp"

namespace lesson05 {

int block_owner(int rank, int hop, int world_size) {
  return ((rank - hop) % world_size + world_size) % world_size;
}

// Keys and values in one buffer, keys first, and so in one message a hop.
void ring_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                    course::HeadsView<const float> v, course::HeadsView<float> o,
                    course::MatrixView<float> lse, std::span<const int> shard_tokens,
                    const course::BlockAttention& block, MPI_Comm comm) {
  int rank = 0;
  int world_size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &world_size);
  std::vector<float> held(k.data(), k.data() + k.size());
  held.insert(held.end(), v.data(), v.data() + v.size());
  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  for (int hop = 0;; ++hop) {
    const int owner = block_owner(rank, hop, world_size);
    const course::HeadsView<const float> held_k(held.data(), q.heads(), shard_tokens[owner], q.head_dim());
    const course::HeadsView<const float> held_v(held.data() + held_k.size(), q.heads(), shard_tokens[owner],
                                                q.head_dim());
    block.accumulate(q, held_k, held_v, owner, state);
    if (hop == world_size - 1) break;
    const int arriving_tokens = shard_tokens[block_owner(rank, hop + 1, world_size)];
    std::vector<float> arriving(2 * q.heads() * arriving_tokens * q.head_dim());
    MPI_Sendrecv(held.data(), static_cast<int>(held.size()), MPI_FLOAT, (rank + 1) % world_size, 0,
                 arriving.data(), static_cast<int>(arriving.size()), MPI_FLOAT,
                 (rank + world_size - 1) % world_size, 0, comm, MPI_STATUS_IGNORE);
    held.swap(arriving);
  }
  block.finish(state, o, lse);
}

}  // namespace lesson05
