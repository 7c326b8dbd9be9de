#include <algorithm>
#include <numeric>
#include <vector>

#include "ring_backward.hpp"

namespace lesson07 {

using course::HeadsView;
using course::Index;

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  if (shard_tokens.size() == 1) return {};
  const Index next = shard_tokens[(rank + 1) % shard_tokens.size()];
  const Index all = std::accumulate(shard_tokens.begin(), shard_tokens.end(), Index{0});
  return {(all - next) * 8 * heads * head_dim, all * 8 * heads * head_dim};
}

void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, course::MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  std::vector<int> counts;
  for (const int tokens : shard_tokens) counts.push_back(static_cast<int>(q.heads() * tokens * q.head_dim()));
  std::vector<int> offsets(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
  const int everything = offsets.back() + counts.back();
  std::vector<float> all_k(everything), all_v(everything), all_dk(everything), all_dv(everything);
  MPI_Allgatherv(k.data(), static_cast<int>(k.size()), MPI_FLOAT, all_k.data(), counts.data(), offsets.data(),
                 MPI_FLOAT, comm);
  MPI_Allgatherv(v.data(), static_cast<int>(v.size()), MPI_FLOAT, all_v.data(), counts.data(), offsets.data(),
                 MPI_FLOAT, comm);
  std::vector<float> delta(o.heads() * o.seq());
  for (Index i = 0; i < o.size(); ++i) delta[i / o.head_dim()] += o.data()[i] * d_o.data()[i];
  std::fill_n(dq.data(), dq.size(), 0.0f);
  for (int owner = 0; owner < static_cast<int>(shard_tokens.size()); ++owner) {
    const auto of_owner = [&](std::vector<float>& all) {
      return HeadsView<float>(all.data() + offsets[owner], q.heads(), shard_tokens[owner], q.head_dim());
    };
    block.accumulate(q, of_owner(all_k), of_owner(all_v), d_o, lse, {delta.data(), q.heads(), q.seq()}, owner,
                     dq, of_owner(all_dk), of_owner(all_dv));
  }
  MPI_Reduce_scatter(all_dk.data(), dk.data(), counts.data(), MPI_FLOAT, MPI_SUM, comm);
  MPI_Reduce_scatter(all_dv.data(), dv.data(), counts.data(), MPI_FLOAT, MPI_SUM, comm);
}

}  // namespace lesson07
