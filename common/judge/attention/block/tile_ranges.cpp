#include "judge/attention/block/tile_ranges.hpp"

#include <algorithm>

namespace course {

Index tile_begin(Index token, Index block, Index tile) {
  return token - token % block % tile;
}

Index tile_end(Index token, Index block, Index tile) {
  return std::min(tile_begin(token, block, tile) + tile, token - token % block + block);
}

namespace {

KeyRange within(const KeyRange& range, Index keys) {
  return {std::max<Index>(0, range.first), std::min(range.last, keys)};
}

bool is_empty(const KeyRange& range) {
  return range.first >= range.last;
}

/// The tiles that these keys lie in. There has to be a key.
KeyRange tiles_around(const KeyRange& keys, const Tiling& tiling) {
  return {tile_begin(keys.first, tiling.key_block, tiling.key_tile),
          tile_end(keys.last - 1, tiling.key_block, tiling.key_tile)};
}

}  // namespace

std::vector<KeyRange> seen_in_tiles_of(Leader leader, const Tiling& tiling, std::span<const KeyRange> own,
                                       Index keys) {
  const Index query_block = tiling.query_block, query_tile = tiling.query_tile;
  std::vector<KeyRange> all;
  for (Index i = 0; i < std::ssize(own); ++i) {
    const KeyRange& of_first = own[tile_begin(i, query_block, query_tile)];
    const KeyRange& of_last = own[std::min(tile_end(i, query_block, query_tile), std::ssize(own)) - 1];
    const KeyRange seen = within({(leader == Leader::Last ? of_last : of_first).first,
                                  (leader == Leader::First ? of_first : of_last).last},
                                 keys);
    if (is_empty(seen)) {
      all.push_back({own[i].first, own[i].first});
    } else {
      const KeyRange tiles = tiles_around(seen, tiling);
      all.push_back({std::max(own[i].first, tiles.first), std::min(own[i].last, tiles.last)});
    }
  }
  return all;
}

std::vector<KeyRange> tiles_seen(const Tiling& tiling, std::span<const KeyRange> own, Index keys) {
  std::vector<KeyRange> all;
  for (Index i = 0; i < std::ssize(own); ++i) {
    const Index end = std::min(tile_end(i, tiling.query_block, tiling.query_tile), std::ssize(own));
    KeyRange seen{keys, 0};
    for (Index other = tile_begin(i, tiling.query_block, tiling.query_tile); other < end; ++other) {
      const KeyRange of_other = within(own[other], keys);
      if (is_empty(of_other)) continue;
      seen = {std::min(seen.first, of_other.first), std::max(seen.last, of_other.last)};
    }
    all.push_back(is_empty(seen) ? KeyRange{0, 0} : tiles_around(seen, tiling));
  }
  return all;
}

}  // namespace course
