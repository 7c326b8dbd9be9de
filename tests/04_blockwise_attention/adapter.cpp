#include <stdexcept>
#include <vector>

#include "blockwise_attention.hpp"
#include "player/block_forward_walk.hpp"

namespace {

using course::AttentionState;
using course::Index;
using course::Shape;
using course::Tensor;

Shape lse_shape(const Tensor& q) {
  return {q.extent(0), q.extent(1)};
}

/// The student's attend_block, head by head, for parts of the keys.
void attend_block(course::Call& call) {
  const auto see_nothing = [&](const auto& see, const auto& m, const auto& l, const Tensor& o) {
    if (call.integer("empty_block") == 0) return;
    const std::vector<float> m_before = m, l_before = l, o_before = o.values();
    see(0, 0);
    if (m != m_before || l != l_before || o.values() != o_before)
      throw std::logic_error("attend_block changes m, l or o on a block without keys");
  };
  course::walk_block_forward(call, lesson04::attend_block, see_nothing);
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
  course::accumulate_by_head(request, state, keys_at_once, lesson04::attend_block);
}

}  // namespace

const course::LessonBlocks& course_blocks() {
  static const course::LessonBlocks blocks{{accumulate, course::finish_state}, {}};
  return blocks;
}

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"attend_block", attend_block},
                                       {"blockwise_attention", blockwise_attention},
                                       {"own_blocks", own_blocks}};
  return adapter;
}
