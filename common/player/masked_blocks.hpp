#pragma once

#include <span>
#include <vector>

#include "player/blocks.hpp"

/// A block computation under a mask. Where every query sees every key it is a lesson's own, on views of that
/// part, and as fast; only where it is not, it is the plain one. It stands with the player, which alone has
/// the lesson's code, and plays no graded case: those are all given the plain one.
namespace course::masked {

/// A rectangle of a block's scores.
struct Tile {
  Index first_query, queries, first_key, keys;
  bool whole;  ///< every query sees every key
};

/// Queries of a tile that is not whole, at most. Fewer leave less to the plain computation, and a lesson's own
/// is slower on products of fewer rows.
inline constexpr Index ragged_queries = 16;
/// Keys of a whole tile beside ragged ones, at least: fewer do not pay for a call and a copy of the state.
inline constexpr Index least_whole_keys = 32;
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
