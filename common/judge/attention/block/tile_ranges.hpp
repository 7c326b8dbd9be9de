#pragma once

#include <span>
#include <vector>

#include "ring/key_range.hpp"

/// Which tiles of keys a tile of queries goes through, for the judges.
namespace course {

/// Whose range says which tiles of keys a tile of queries goes through: that of its first query, that of its
/// last, or the first one's beginning and the last one's end.
enum class Leader { First, Last, Both };

/// How queries and keys are divided: into blocks, and each block into tiles, the last of which are shorter.
struct Tiling {
  Index query_block, query_tile;
  Index key_block, key_tile;
};

/// What lies of each query's range in the tiles of 0 .. keys - 1 that its leader's has a part in.
std::vector<KeyRange> seen_in_tiles_of(Leader leader, const Tiling& tiling, std::span<const KeyRange> own,
                                       Index keys);

/// The tiles of 0 .. keys - 1 that some query of each query's tile sees, whole.
std::vector<KeyRange> tiles_seen(const Tiling& tiling, std::span<const KeyRange> own, Index keys);

}  // namespace course
