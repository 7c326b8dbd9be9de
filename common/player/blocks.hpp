#pragma once

#include <utility>

#include "ring/block_attention.hpp"

namespace course {

/// Block computations in tiles, as a lesson's own code makes them; one that it does not have is empty.
struct LessonBlocks {
  TiledBlockAttention forward;
  TiledBlockAttentionBackward backward;
};

/// The block computations that a player has for a ring: an adapter hands on the one that its lesson's
/// function takes. What is handed out must not be called after the Blocks are gone.
class Blocks {
 public:
  virtual ~Blocks() = default;

  /// Without tiles there is nobody to call between them.
  BlockAttention forward() {
    TiledBlockAttention tiled = make_forward(false);
    return {[work = std::move(tiled.accumulate)](auto&&... block) { work(block..., {}); },
            std::move(tiled.finish)};
  }
  BlockAttentionBackward backward() {
    return {[work = make_backward(false).accumulate](auto&&... block) { work(block..., {}); }};
  }
  TiledBlockAttention tiled_forward() { return make_forward(true); }
  TiledBlockAttentionBackward tiled_backward() { return make_backward(true); }

  // Virtual, so that a shared object needs no symbol of the player's.

  /// These are the player's own everywhere: no lesson has LessonBlocks with a mask.
  virtual MaskedBlockAttention masked_forward() = 0;
  virtual MaskedBlockAttentionBackward masked_backward() = 0;

 private:
  /// @param in_tiles whether the function that is given it is one that hides its transfers behind tiles
  virtual TiledBlockAttention make_forward(bool in_tiles) = 0;
  virtual TiledBlockAttentionBackward make_backward(bool in_tiles) = 0;
};

}  // namespace course

/// The adapter of a lesson that computes blocks defines this; a player that is given the lesson's shared
/// object for its blocks finds it by name.
extern "C" const course::LessonBlocks& course_blocks();
