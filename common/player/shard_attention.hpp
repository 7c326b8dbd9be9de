#pragma once

#include "player/grid_parts.hpp"
#include "ring/tensor_grid.hpp"

namespace course {

/// The rings of `parts`, causal, bound to the positions of all ranks of `comm`.
inline ShardAttention shard_attention(GridParts parts, std::vector<Positions> positions, MPI_Comm comm) {
  ShardAttention bound;
  bound.forward = [parts, positions, comm](HeadsView<const float> q, HeadsView<const float> k,
                                           HeadsView<const float> v, HeadsView<float> o,
                                           MatrixView<float> lse) {
    parts.ring(q, k, v, o, lse, positions, true, comm);
  };
  bound.backward = [parts, positions, comm](HeadsView<const float> q, HeadsView<const float> k,
                                            HeadsView<const float> v, HeadsView<const float> o,
                                            MatrixView<const float> lse, HeadsView<const float> d_o,
                                            HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv) {
    parts.ring_backward(q, k, v, o, lse, d_o, dq, dk, dv, positions, true, comm);
  };
  return bound;
}

}  // namespace course
