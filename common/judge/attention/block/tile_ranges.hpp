#pragma once

#include <span>
#include <vector>

#include "ring/key_range.hpp"

/// Tiles of queries and of keys, and which of these a tile of queries goes through, for the judges.
namespace course {

/// The first token of the tile that a token lies in, where each block is divided into tiles.
Index tile_begin(Index token, Index block, Index tile);
/// The first token behind that tile, or behind the block.
Index tile_end(Index token, Index block, Index tile);

/// Whose range says which tiles of keys a tile of queries goes through: that of its first query, that of its
/// last, or the first one's beginning and the last one's end.
enum class Leader { First, Last, Both };

/// How queries and keys are divided: into blocks, and each block into tiles, the last of which may be
/// shorter.
struct Tiling {
  Index query_block, query_tile;
  Index key_block, key_tile;
};

/// The part of each query's range that lies in tiles of 0 .. keys - 1 which its leader's range has a part in.
std::vector<KeyRange> seen_in_tiles_of(Leader leader, const Tiling& tiling, std::span<const KeyRange> own,
                                       Index keys);

/// The tiles of 0 .. keys - 1 that some query of each query's tile sees, whole.
std::vector<KeyRange> tiles_seen(const Tiling& tiling, std::span<const KeyRange> own, Index keys);

}  // namespace course
