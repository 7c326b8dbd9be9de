#include "causal_ring.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson13 {

using course::HeadsView;
using course::Index;
using course::KeyRange;
using course::MatrixView;

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  // At which position does query i stand, and which is the last position that it sees?
  // Where is that in the block, if it is in the block at all?
  throw course::NotImplemented("task 1, key_ranges");
}

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  // Whose block does the rank hold at this step?
  throw course::NotImplemented("task 2, work");
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  // Lesson 04's step, over a range of keys. What is m - m' of a query that sees nothing here, and has
  // seen nothing before?
  throw course::NotImplemented("task 3, attend_seen");
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  // Lesson 05's ring. What do the queries see of the block that is held? Is there work to do at all?
  // Must a block that nobody here sees still be passed on?
  throw course::NotImplemented("task 4, causal_ring_attention");
}

void causal_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<const int> shard_tokens, Index offset,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm) {
  // Lesson 07's ring, with task 4's question at each block. What of the gradients of a block that a rank
  // does not work on?
  throw course::NotImplemented("task 5, causal_ring_backward");
}

}  // namespace lesson13
