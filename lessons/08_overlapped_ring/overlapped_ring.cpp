#include "overlapped_ring.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson08 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

TokensToHide tokens_to_hide(const Setup& setup) {
  // Write both times down for c tokens a rank: which grows with c, and which with its square?
  // What travels backwards beside keys and values?
  throw course::NotImplemented("task 1, tokens_to_hide");
}

void overlapped_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                               HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                               const course::TiledBlockAttention& block, MPI_Comm comm) {
  // Which transfer can be under way while the own block is computed? When may its buffers be used again?
  // Who moves the bytes while you compute? What is left to wait for after the last block?
  throw course::NotImplemented("task 2, overlapped_ring_attention");
}

void overlapped_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                              HeadsView<const float> o, MatrixView<const float> lse,
                              HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                              HeadsView<float> dv, std::span<const int> shard_tokens,
                              const course::TiledBlockAttentionBackward& block, MPI_Comm comm) {
  // Keys and values as in task 2. Where does this block's share of dk and dv go while the sum of the
  // others is still on its way? When are the two added, and when may the result be sent on?
  throw course::NotImplemented("task 3, overlapped_ring_backward");
}

}  // namespace lesson08
