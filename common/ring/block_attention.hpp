#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "tensor/view.hpp"

namespace course {

/// What a query shard has seen so far: for each head and query the running maximum m, the running sum
/// l = sum exp(s - m) and the unnormalised output O = sum exp(s - m) v. A new state has seen nothing:
/// m = -inf, l = 0, O = 0. Scores s are scaled by 1/sqrt(head_dim).
class AttentionState {
 public:
  AttentionState(Index heads, Index queries, Index head_dim)
      : heads_(heads),
        queries_(queries),
        head_dim_(head_dim),
        o_(heads * queries * head_dim, 0.0f),
        m_(heads * queries, -std::numeric_limits<float>::infinity()),
        l_(heads * queries, 0.0f) {}

  HeadsView<float> o() { return {o_.data(), heads_, queries_, head_dim_}; }  ///< [heads, queries, head_dim]
  MatrixView<float> m() { return {m_.data(), heads_, queries_}; }            ///< [heads, queries]
  MatrixView<float> l() { return {l_.data(), heads_, queries_}; }            ///< [heads, queries]

 private:
  Index heads_;
  Index queries_;
  Index head_dim_;
  std::vector<float> o_;
  std::vector<float> m_;
  std::vector<float> l_;
};

/// The block computation that a ring lesson is given (your lesson 04 is one). The ring decides which block is
/// seen when; what is computed on a block is not the ring's business.
struct BlockAttention {
  /// Lets every query of q see the keys and values of one block, which belongs to rank `owner`.
  /// q [heads, queries, head_dim]; k, v [heads, keys, head_dim]; an empty block changes nothing.
  std::function<void(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v, int owner,
                     AttentionState& state)>
      accumulate;
  /// Writes o = O / l [heads, queries, head_dim] and lse = m + log l [heads, queries]; a query that saw no
  /// key gets zeros and -inf.
  std::function<void(AttentionState& state, HeadsView<float> o, MatrixView<float> lse)> finish;
};

}  // namespace course
