#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "ring/block_attention.hpp"
#include "tensor/tensor.hpp"

namespace course {

/// Block computations as a lesson's own code makes them; one that it does not have is empty. They know no
/// bias, no other scale than 1/sqrt(key_dim), and no mask but where it is said.
struct LessonBlocks {
  BlockForward forward;
  BlockBackward backward;
  bool forward_knows_masks = false;  ///< whether it goes by a request's `seen`
  bool backward_knows_masks = false;
};

/// The block computations that a player has for a ring: an adapter hands on the one that its lesson's
/// function takes. What is handed out must not be called after the Blocks are gone.
class Blocks {
 public:
  virtual ~Blocks() = default;

  BlockForward block_forward() { return make_forward({}); }
  BlockBackward block_backward() { return make_backward({}); }
  /// Of a ring whose queries do not see every key.
  BlockForward block_forward_of_mask() { return make_forward({.masked = true}); }
  /// The same of a ring that hides its transfers: instruments see what it computes beside them.
  BlockForward hiding_block_forward_of_mask() { return make_forward({.in_tiles = true, .masked = true}); }
  BlockBackward block_backward_of_mask() { return make_backward({.masked = true}); }

  // The structs of lessons 05 to 14, in which q, k and v have equally many heads of one width.

  BlockAttention forward() {
    const BlockForward block = make_forward({});
    return {[block](HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v, int owner,
                    AttentionState& state) { block.accumulate(request(q, k, v, owner), state); },
            block.finish};
  }
  BlockAttentionBackward backward() {
    return {[block = make_backward({})](HeadsView<const float> q, HeadsView<const float> k,
                                        HeadsView<const float> v, HeadsView<const float> d_o,
                                        MatrixView<const float> lse, MatrixView<const float> delta, int owner,
                                        HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv) {
      block.accumulate(request(q, k, v, owner), d_o, lse, delta, dq, dk, dv);
    }};
  }
  MaskedBlockAttention masked_forward() {
    const BlockForward block = make_forward({.masked = true});
    return {[block](HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                    std::span<const KeyRange> seen, int owner, AttentionState& state) {
              block.accumulate(masked(request(q, k, v, owner), seen), state);
            },
            block.finish};
  }
  MaskedBlockAttentionBackward masked_backward() {
    return {[block = make_backward({.masked = true})](
                HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                HeadsView<const float> d_o, MatrixView<const float> lse, MatrixView<const float> delta,
                std::span<const KeyRange> seen, int owner, HeadsView<float> dq, HeadsView<float> dk,
                HeadsView<float> dv) {
      block.accumulate(masked(request(q, k, v, owner), seen), d_o, lse, delta, dq, dk, dv);
    }};
  }
  TiledBlockAttention tiled_forward() {
    const BlockForward block = make_forward({.in_tiles = true});
    return {[block](HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v, int owner,
                    AttentionState& state, const BetweenTiles& between_tiles) {
              block.accumulate(in_tiles(request(q, k, v, owner), between_tiles), state);
            },
            block.finish};
  }
  TiledBlockAttentionBackward tiled_backward() {
    return {[block = make_backward({.in_tiles = true})](
                HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                HeadsView<const float> d_o, MatrixView<const float> lse, MatrixView<const float> delta,
                int owner, HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                const BetweenTiles& between_tiles) {
      block.accumulate(in_tiles(request(q, k, v, owner), between_tiles), d_o, lse, delta, dq, dk, dv);
    }};
  }

 protected:
  /// The function that takes the computation.
  struct Taker {
    bool in_tiles = false;  ///< it hides its transfers behind tiles
    bool masked = false;    ///< its queries do not see every key
  };

 private:
  /// Throws std::invalid_argument with the shapes unless q, k and v have the same heads and head_dim, and k
  /// and v equally many tokens.
  static BlockRequest request(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                              int owner) {
    const auto shape = [](HeadsView<const float> x) { return to_string({x.heads(), x.seq(), x.head_dim()}); };
    const bool same_heads = q.heads() == k.heads() && k.heads() == v.heads();
    const bool same_dim = q.head_dim() == k.head_dim() && k.head_dim() == v.head_dim();
    if (!same_heads || !same_dim || k.seq() != v.seq() || k.seq() < 0)
      throw std::invalid_argument(
          "block.accumulate was given q " + shape(q) + ", k " + shape(k) + " and v " + shape(v) +
          "; heads and head_dim must agree, and k and v must hold equally many tokens");
    return {q, k, v, owner, 1.0f / std::sqrt(static_cast<float>(q.head_dim()))};
  }
  static BlockRequest masked(BlockRequest request, std::span<const KeyRange> seen) {
    request.seen = seen;
    return request;
  }
  static BlockRequest in_tiles(BlockRequest request, const BetweenTiles& between_tiles) {
    request.between_tiles = between_tiles;
    return request;
  }

  // Virtual, so that a shared object needs no symbol of the player's.
  virtual BlockForward make_forward(Taker taker) = 0;
  virtual BlockBackward make_backward(Taker taker) = 0;
};

}  // namespace course

/// The adapter of a lesson that computes blocks defines this; a player that is given the lesson's shared
/// object for its blocks finds it by name.
extern "C" const course::LessonBlocks& course_blocks();
