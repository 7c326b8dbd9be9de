#pragma once

#include <span>
#include <vector>

#include "player/blocks.hpp"

/// A block computation under a mask. It is the lesson's own where that knows masks. Else it is the lesson's
/// own on views of the parts in which every query sees every key, and as fast; elsewhere it is the plain one.
/// It stands with the player, which alone has the lesson's code, and plays no graded case: those are all
/// given the plain one.
namespace course::masked {

/// A rectangle of a block's scores.
struct Tile {
  Index first_query, queries, first_key, keys;
  bool whole;  ///< every query sees every key
};

/// Queries of a tile that is not whole, at most. The plain computation goes a score at a time, much slower
/// than a lesson's products, so little may be left to it: with these two numbers, of a triangle of n queries
/// only the triangles of 32 along its diagonal, 33 / (n + 1) of its pairs. Smaller numbers would leave less,
/// and cut the rest into smaller products.
inline constexpr Index ragged_queries = 16;
/// Keys of a whole tile beside ragged ones, at least: each such tile costs a call and a copy of the state.
inline constexpr Index least_whole_keys = 32;

/// Rectangles that hold every pair of a query i and a key of seen[i] once, and no other pair where they are
/// whole. Whole ones are as large as halving the queries finds them: a triangle is a square, and two
/// triangles of half its size.
/// @param seen a range a query, 0 <= first <= last <= keys
std::vector<Tile> tiles(std::span<const KeyRange> seen, Index keys);

/// BlockForward::accumulate, by a lesson's block computation, which is given what it knows.
void accumulate(const LessonBlocks& blocks, const BlockRequest& request, AttentionState& state);

/// BlockBackward::accumulate, likewise.
void accumulate_backward(const LessonBlocks& blocks, const BlockRequest& request, HeadsView<const float> d_o,
                         MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                         HeadsView<float> dk, HeadsView<float> dv);

}  // namespace course::masked
