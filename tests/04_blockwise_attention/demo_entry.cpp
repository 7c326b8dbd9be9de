#include <algorithm>
#include <cmath>

#include "blockwise_attention.hpp"
#include "demo/block_entry.hpp"

namespace {

using course::AttentionState;
using course::HeadsView;
using course::Index;
using course::MatrixView;

/// Scores of a whole shard against a whole block would not stay in the cache, nor always fit in memory.
constexpr Index keys_at_once = 256;

void accumulate_tiled(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v, int,
                      AttentionState& state, const course::BetweenTiles& between_tiles) {
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index first = 0; first < k.seq(); first += keys_at_once) {
      const Index keys = std::min(keys_at_once, k.seq() - first);
      lesson04::attend_block(q.head(head), k.head(head).rows(first, keys), v.head(head).rows(first, keys),
                             state.m().row(head), state.l().row(head), state.o().head(head));
      if (between_tiles) between_tiles();
    }
  }
}

void accumulate(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v, int owner,
                AttentionState& state) {
  accumulate_tiled(q, k, v, owner, state, {});
}

/// A query that saw no key has l = 0 and gets zeros and -inf.
void finish(AttentionState& state, HeadsView<float> o, MatrixView<float> lse) {
  for (Index head = 0; head < o.heads(); ++head) {
    for (Index row = 0; row < o.seq(); ++row) {
      const float l = state.l()(head, row);
      const auto sum = state.o().head(head).row(row);
      std::transform(sum.begin(), sum.end(), o.head(head).row(row).begin(),
                     [l](float value) { return l == 0 ? 0.0f : value / l; });
      lse(head, row) = state.m()(head, row) + std::log(l);
    }
  }
}

}  // namespace

const course::BlockAttention* course_demo_block() {
  static const course::BlockAttention block{accumulate, finish};
  return &block;
}

const course::TiledBlockAttention* course_demo_tiled_block() {
  static const course::TiledBlockAttention block{accumulate_tiled, finish};
  return &block;
}
