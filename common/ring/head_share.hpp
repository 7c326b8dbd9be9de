#pragma once

#include "ring/shards.hpp"
#include "tensor/view.hpp"

namespace course {

/// Query heads first .. last - 1 of a rank, and the key heads kv_first .. kv_last - 1 that they look at; both
/// are empty where it has none.
struct HeadShare {
  Index first, last, kv_first, kv_last;
};

/// The share of `rank` among so many ranks, to which query heads are dealt out in order as even_shards does;
/// heads / kv_heads consecutive ones look at one key head.
inline HeadShare head_share(Index heads, Index kv_heads, int ranks, int rank) {
  const std::vector<int> counts = even_shards(static_cast<int>(heads), ranks);
  const Index first = shard_offsets(counts)[rank], of_key_head = heads / kv_heads;
  if (counts[rank] == 0) return {first, first, 0, 0};
  const Index last = first + counts[rank];
  return {first, last, first / of_key_head, (last + of_key_head - 1) / of_key_head};
}

}  // namespace course
