#include <numeric>
#include <vector>

#include "ring_attention.hpp"

namespace lesson05 {

int block_owner(int rank, int hop, int world_size) {
  return (rank - hop + world_size) % world_size;
}

namespace {

std::vector<float> gather(course::HeadsView<const float> own, const std::vector<int>& counts,
                          const std::vector<int>& offsets, MPI_Comm comm) {
  std::vector<float> all(offsets.back() + counts.back());
  MPI_Allgatherv(own.data(), static_cast<int>(own.size()), MPI_FLOAT, all.data(), counts.data(),
                 offsets.data(), MPI_FLOAT, comm);
  return all;
}

}  // namespace

void ring_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                    course::HeadsView<const float> v, course::HeadsView<float> o,
                    course::MatrixView<float> lse, std::span<const int> shard_tokens,
                    const course::BlockAttention& block, MPI_Comm comm) {
  std::vector<int> counts;
  for (const int tokens : shard_tokens) counts.push_back(static_cast<int>(q.heads() * tokens * q.head_dim()));
  std::vector<int> offsets(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
  const std::vector<float> all_k = gather(k, counts, offsets, comm);
  const std::vector<float> all_v = gather(v, counts, offsets, comm);

  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  for (int owner = 0; owner < static_cast<int>(shard_tokens.size()) - 1; ++owner) {
    const auto of_owner = [&](const std::vector<float>& all) {
      return course::HeadsView<const float>(all.data() + offsets[owner], q.heads(), shard_tokens[owner],
                                            q.head_dim());
    };
    block.accumulate(q, of_owner(all_k), of_owner(all_v), owner, state);
  }
  block.finish(state, o, lse);
}

}  // namespace lesson05
