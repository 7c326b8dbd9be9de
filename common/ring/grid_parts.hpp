#pragma once

#include <mpi.h>

#include <functional>
#include <span>
#include <vector>

#include "ring/head_share.hpp"
#include "ring/key_range.hpp"
#include "tensor/view.hpp"

namespace course {

/// Of a rank's shard the position of each row in the sequence, ascending; it may be empty.
using Positions = std::vector<Index>;

/// What a grid is put together from: lesson 17's exchange and lesson 15's rings, each on any communicator.
/// What goes by rank goes by the ranks of the communicator that is given, and no other ranks take part.
/// Positions are any different numbers. Rows follow each other without gaps.
struct GridParts {
  /// Lesson 17's head_share, of `rank` among so many that share the heads.
  std::function<HeadShare(Index heads, Index kv_heads, int ranks, int rank)> share;

  /// Lesson 17's tokens_to_heads: from x [heads, n, d], all heads of this rank's tokens, to y [own, N, d],
  /// heads_of[rank] of all tokens of the communicator, by ascending position.
  std::function<void(HeadsView<const float> x, std::span<const KeyRange> heads_of,
                     std::span<const Positions> positions, HeadsView<float> y, MPI_Comm comm)>
      tokens_to_heads;
  /// Lesson 17's heads_to_tokens, the way back: x is written whole. A head that several ranks have comes home
  /// as the sum of what they have; one that nobody has, as 0.
  std::function<void(HeadsView<const float> y, std::span<const KeyRange> heads_of,
                     std::span<const Positions> positions, HeadsView<float> x, MPI_Comm comm)>
      heads_to_tokens;

  /// Lesson 15's ring on any layout: attention of q [heads, n, d] over k and v [kv_heads, n, d] of all ranks
  /// of the communicator, scaled by 1/sqrt(d); writes o [heads, n, d] and lse [heads, n]. heads / kv_heads
  /// consecutive query heads share a key head. If `causal`, a query sees the keys up to its own position.
  /// Keys and values go to rank + 1, once less than there are ranks.
  std::function<void(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                     HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                     bool causal, MPI_Comm comm)>
      ring;
  /// Its gradients, which are written, from o, lse and d_o of the same rows.
  std::function<void(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                     HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                     HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                     std::span<const Positions> positions, bool causal, MPI_Comm comm)>
      ring_backward;
};

}  // namespace course
