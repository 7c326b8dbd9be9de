#include "ring_backward.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  // In how many hops do keys and values travel, and in how many their gradients?
  // Which block does this rank hold and never pass on?
  throw course::NotImplemented("task 1, backward_traffic");
}

void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  // What must each query know before its first block, and can it know it without asking anybody?
  // After the last block of work: whose dK and dV does this rank hold, and who waits for them?
  throw course::NotImplemented("task 2, ring_attention_backward");
}

}  // namespace lesson07
