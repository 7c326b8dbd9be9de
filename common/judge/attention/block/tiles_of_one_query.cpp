#include "judge/attention/block/tiles_of_one_query.hpp"

#include <algorithm>

namespace course {

namespace {

/// The first token of the tile that a token lies in.
Index tile_begin(Index token, Index block, Index tile) {
  return token - token % block % tile;
}

/// The first one behind it.
Index tile_end(Index token, Index block, Index tile) {
  const Index begin = tile_begin(token, block, tile);
  return std::min(begin + tile, token - token % block + block);
}

}  // namespace

std::vector<KeyRange> seen_in_tiles_of(Leader leader, const Tiling& tiling, std::span<const KeyRange> own,
                                       Index keys) {
  const auto& [query_block, query_tile, key_block, key_tile] = tiling;
  std::vector<KeyRange> all;
  for (Index i = 0; i < std::ssize(own); ++i) {
    const KeyRange& of_first = own[tile_begin(i, query_block, query_tile)];
    const KeyRange& of_last = own[std::min(tile_end(i, query_block, query_tile), std::ssize(own)) - 1];
    const Index first = std::max<Index>(0, (leader == Leader::Last ? of_last : of_first).first);
    const Index last = std::min((leader == Leader::First ? of_first : of_last).last, keys);
    KeyRange seen{own[i].first, own[i].first};
    if (first < last) {
      seen = {std::max(own[i].first, tile_begin(first, key_block, key_tile)),
              std::min(own[i].last, tile_end(last - 1, key_block, key_tile))};
    }
    all.push_back(seen);
  }
  return all;
}

}  // namespace course
