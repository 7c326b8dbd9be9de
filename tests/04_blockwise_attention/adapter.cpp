#include "player/adapter.hpp"

#include <algorithm>
#include <cmath>

#include "blockwise_attention.hpp"

namespace {

using course::AttentionState;
using course::HeadsView;
using course::Index;
using course::MatrixView;
using course::Shape;
using course::Tensor;

Shape lse_shape(const Tensor& q) {
  return {q.extent(0), q.extent(1)};
}

/// o / l and m + log l; a query that saw no key keeps its zeros.
void finish(std::span<const float> m, std::span<const float> l, course::MatrixView<float> o,
            std::span<float> lse) {
  for (Index i = 0; i < o.rows(); ++i) {
    lse[i] = m[i] + std::log(l[i]);
    if (l[i] == 0.0f) continue;
    for (float& value : o.row(i)) value /= l[i];
  }
}

/// Walks the blocks with the student's attend_block, head by head. With no keys it is called once, without
/// keys.
void attend_block(course::Call& call) {
  const Tensor& q = call.input("q");
  const Tensor& k = call.input("k");
  const Tensor& v = call.input("v");
  const Index block = call.integer("block");
  Tensor& o = call.output("o", q.shape());
  Tensor& lse = call.output("lse", lse_shape(q));
  std::ranges::fill(o.values(), 0.0f);
  for (Index head = 0; head < q.extent(0); ++head) {
    std::vector<float> m(q.extent(1), -std::numeric_limits<float>::infinity());
    std::vector<float> l(q.extent(1), 0.0f);
    Index first = 0;
    do {
      const Index keys = std::min(block, k.extent(1) - first);
      lesson04::attend_block(q.heads().head(head), k.heads().head(head).rows(first, keys),
                             v.heads().head(head).rows(first, keys), m, l, o.heads().head(head));
      first += block;
    } while (first < k.extent(1));
    if (call.integer("empty_block") != 0) {
      const std::vector<float> m_before = m, l_before = l, o_before = o.values();
      lesson04::attend_block(q.heads().head(head), k.heads().head(head).rows(0, 0),
                             v.heads().head(head).rows(0, 0), m, l, o.heads().head(head));
      if (m != m_before || l != l_before || o.values() != o_before)
        throw std::logic_error("attend_block changes m, l or o on a block without keys");
    }
    finish(m, l, o.heads().head(head), lse.matrix().row(head));
  }
}

void blockwise_attention(course::Call& call) {
  const Tensor& q = call.input("q");
  lesson04::blockwise_attention(q.heads(), call.input("k").heads(), call.input("v").heads(),
                                call.integer("block"), call.output("o", q.shape()).heads(),
                                call.output("lse", lse_shape(q)).matrix());
}

/// A ring's work without its messages: the rank's own block, as often as the ring has blocks.
void own_blocks(course::Call& call) {
  const Tensor& q = call.input("q");
  const course::BlockAttention block = call.blocks().forward();
  AttentionState state(q.extent(0), q.extent(1), q.extent(2));
  for (Index i = 0; i < call.integer("blocks"); ++i)
    block.accumulate(q.heads(), call.input("k").heads(), call.input("v").heads(), 0, state);
  block.finish(state, call.output("o", q.shape()).heads(), call.output("lse", lse_shape(q)).matrix());
}

/// Scores of a whole shard against a whole block would not stay in the cache, nor always fit in memory.
constexpr Index keys_at_once = 256;

/// A ring's block, a tile of keys at a time.
void accumulate(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v, int,
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

/// A query that saw no key has l = 0 and gets zeros and -inf.
void finish_state(AttentionState& state, HeadsView<float> o, MatrixView<float> lse) {
  for (Index head = 0; head < o.heads(); ++head) {
    std::ranges::copy(std::span(state.o().head(head).data(), static_cast<std::size_t>(o.head(head).size())),
                      o.head(head).data());
    finish(state.m().row(head), state.l().row(head), o.head(head), lse.row(head));
  }
}

}  // namespace

const course::LessonBlocks& course_blocks() {
  static const course::LessonBlocks blocks{{accumulate, finish_state}, {}};
  return blocks;
}

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"attend_block", attend_block},
                                       {"blockwise_attention", blockwise_attention},
                                       {"own_blocks", own_blocks}};
  return adapter;
}
