#include <algorithm>
#include <limits>
#include <vector>

#include "attention_backward.hpp"
#include "demo/block_entry.hpp"

namespace {

using course::HeadsView;
using course::Index;
using course::MatrixView;

/// Weights of a whole shard against a whole block would not stay in the cache, nor always fit in memory.
constexpr Index keys_at_once = 128;

/// Every query sees all of the block's keys, unless it sees no key at all.
std::vector<Index> visible_keys(std::span<const float> lse, Index keys) {
  std::vector<Index> visible(lse.size(), keys);
  for (std::size_t i = 0; i < lse.size(); ++i) {
    if (lse[i] == -std::numeric_limits<float>::infinity()) visible[i] = 0;
  }
  return visible;
}

void accumulate_tiled(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                      HeadsView<const float> d_o, MatrixView<const float> lse, MatrixView<const float> delta,
                      int, HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                      const course::BetweenTiles& between_tiles) {
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index first = 0; first < k.seq(); first += keys_at_once) {
      const Index keys = std::min(keys_at_once, k.seq() - first);
      lesson06::block_backward(q.head(head), k.head(head).rows(first, keys), v.head(head).rows(first, keys),
                               d_o.head(head), lse.row(head), delta.row(head),
                               visible_keys(lse.row(head), keys), dq.head(head),
                               dk.head(head).rows(first, keys), dv.head(head).rows(first, keys));
      if (between_tiles) between_tiles();
    }
  }
}

void accumulate(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                HeadsView<const float> d_o, MatrixView<const float> lse, MatrixView<const float> delta,
                int owner, HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv) {
  accumulate_tiled(q, k, v, d_o, lse, delta, owner, dq, dk, dv, {});
}

}  // namespace

const course::BlockAttentionBackward* course_demo_block_backward() {
  static const course::BlockAttentionBackward block{accumulate};
  return &block;
}

const course::TiledBlockAttentionBackward* course_demo_tiled_block_backward() {
  static const course::TiledBlockAttentionBackward block{accumulate_tiled};
  return &block;
}
