#include "player/adapter.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

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

/// Hands a head's keys to `see` in parts of at most so many, by the first of each and its length; once, and
/// none, where there are none.
void in_parts(Index keys, Index at_most, const std::function<void(Index, Index)>& see) {
  const Index parts = std::max<Index>(1, (keys + at_most - 1) / at_most);
  for (Index part = 0; part < parts; ++part) see(part * at_most, std::min(at_most, keys - part * at_most));
}

/// What a block's sums stand for, which the contract says: o / l, or zeros of a query that saw no key, and
/// m + log l.
void finish(std::span<const float> m, std::span<const float> l, MatrixView<float> o, std::span<float> lse) {
  std::ranges::transform(m, l, lse.begin(), [](float top, float sum) { return top + std::log(sum); });
  for (Index i = 0; i < o.rows(); ++i) {
    const float whole = l[i] == 0.0f ? 1.0f : l[i];
    std::ranges::transform(o.row(i), o.row(i).begin(), [&](float entry) { return entry / whole; });
  }
}

/// The student's attend_block, head by head, for parts of the keys.
void attend_block(course::Call& call) {
  const Tensor& q = call.input("q");
  const Tensor& k = call.input("k");
  const Tensor& v = call.input("v");
  Tensor& o = call.output("o", q.shape());
  Tensor& lse = call.output("lse", lse_shape(q));
  std::ranges::fill(o.values(), 0.0f);
  for (Index head = 0; head < q.extent(0); ++head) {
    std::vector<float> m(q.extent(1), -std::numeric_limits<float>::infinity());
    std::vector<float> l(q.extent(1), 0.0f);
    const auto see = [&](Index first, Index keys) {
      lesson04::attend_block(q.heads().head(head), k.heads().head(head).rows(first, keys),
                             v.heads().head(head).rows(first, keys), m, l, o.heads().head(head));
    };
    in_parts(k.extent(1), call.integer("block"), see);
    if (call.integer("empty_block") != 0) {
      const std::vector<float> m_before = m, l_before = l, o_before = o.values();
      see(0, 0);
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
void accumulate(const course::BlockRequest& request, AttentionState& state) {
  const Index group = request.q.heads() / std::max<Index>(1, request.k.heads());
  for (Index head = 0; head < request.q.heads(); ++head) {
    const MatrixView<const float> k = request.k.head(head / group), v = request.v.head(head / group);
    in_parts(k.rows(), keys_at_once, [&](Index first, Index keys) {
      lesson04::attend_block(request.q.head(head), k.rows(first, keys), v.rows(first, keys),
                             state.m().row(head), state.l().row(head), state.o().head(head));
      if (request.between_tiles) request.between_tiles();
    });
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
