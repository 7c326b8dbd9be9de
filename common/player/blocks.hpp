#pragma once

#include <utility>

#include "ring/block_attention.hpp"

namespace course {

/// The block computations that a player has for a ring: an adapter hands on the one that its lesson's
/// function takes. Virtual calls, so that a shared object needs no symbol of the player's. What is handed out
/// must not be called after the Blocks are gone.
class Blocks {
 public:
  virtual ~Blocks() = default;
  virtual BlockAttention forward() = 0;
  virtual BlockAttentionBackward backward() = 0;
  virtual TiledBlockAttention tiled_forward() = 0;
  virtual TiledBlockAttentionBackward tiled_backward() = 0;
};

/// Block computations in tiles, as a lesson's own code makes them; one that it does not have is empty.
struct LessonBlocks {
  TiledBlockAttention forward;
  TiledBlockAttentionBackward backward;
};

/// A computation in tiles with nobody to call between them.
inline BlockAttention without_tiles(TiledBlockAttention tiled) {
  return {[work = std::move(tiled.accumulate)](HeadsView<const float> q, HeadsView<const float> k,
                                               HeadsView<const float> v, int owner,
                                               AttentionState& state) { work(q, k, v, owner, state, {}); },
          std::move(tiled.finish)};
}

inline BlockAttentionBackward without_tiles(TiledBlockAttentionBackward tiled) {
  return {[work = std::move(tiled.accumulate)](
              HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
              HeadsView<const float> d_o, MatrixView<const float> lse, MatrixView<const float> delta,
              int owner, HeadsView<float> dq, HeadsView<float> dk,
              HeadsView<float> dv) { work(q, k, v, d_o, lse, delta, owner, dq, dk, dv, {}); }};
}

}  // namespace course

/// The adapter of a lesson that computes blocks defines this; a player that is given the lesson's shared
/// object for its blocks finds it by name.
extern "C" const course::LessonBlocks& course_blocks();
