#pragma once

#include <span>
#include <vector>

#include "player/blocks.hpp"

/// A block computation under a mask as fast as a lesson's own without one. Where every query sees every key
/// it is the lesson's, on views of that part; only where it is not, scores are computed and thrown away. It
/// stands with the player, which alone has the lesson's code, and plays no graded case: those are all given
/// the plain one.
namespace course::masked {

/// A rectangle of a block's scores.
struct Tile {
  Index first_query, queries, first_key, keys;
  bool whole;  ///< every query sees every key
};

/// Queries of a tile that is not whole, at most. On a triangle half of such a tile is wasted, and products of
/// fewer rows are slower: at head_dim 64 and 512 to 4096 tokens 16 and 128 were slower, and 32 was as fast.
inline constexpr Index ragged_queries = 64;
/// Keys of a whole tile beside ragged ones, at least: fewer do not pay for a call and a copy of the state.
inline constexpr Index least_whole_keys = 128;
/// Keys of such a tile, at most.
inline constexpr Index ragged_keys = 256;

/// Rectangles that hold every pair of a query i and a key of seen[i] once, and no other pair where they are
/// whole. Whole ones are as large as halving the queries finds them: a triangle is a square, and two
/// triangles of half its size.
/// @param seen a range a query, 0 <= first <= last <= keys
std::vector<Tile> tiles(std::span<const KeyRange> seen, Index keys);

/// MaskedBlockAttention::accumulate, by the block computation of a lesson.
void accumulate(const TiledBlockAttention& block, HeadsView<const float> q, HeadsView<const float> k,
                HeadsView<const float> v, std::span<const KeyRange> seen, int owner, AttentionState& state);

/// MaskedBlockAttentionBackward::accumulate, by that of another.
void accumulate_backward(const TiledBlockAttentionBackward& block, HeadsView<const float> q,
                         HeadsView<const float> k, HeadsView<const float> v, HeadsView<const float> d_o,
                         MatrixView<const float> lse, MatrixView<const float> delta,
                         std::span<const KeyRange> seen, int owner, HeadsView<float> dq, HeadsView<float> dk,
                         HeadsView<float> dv);

}  // namespace course::masked
