#include <algorithm>
#include <limits>
#include <vector>

#include "attention_backward.hpp"
#include "player/block_backward_walk.hpp"

namespace {

using course::HeadsView;
using course::Index;
using course::MatrixView;
using course::Tensor;

void softmax_backward(course::Call& call) {
  const Tensor& p = call.input("p");
  lesson06::softmax_backward(p.matrix(), call.input("dp").matrix(), call.input("d_lse").flat(),
                             call.output("ds", p.shape()).matrix());
}

void block_backward(course::Call& call) {
  course::walk_block_backward(call, lesson06::block_backward);
}

void attention_backward(course::Call& call) {
  const Tensor& q = call.input("q");
  const Tensor& k = call.input("k");
  const std::vector<Index> visible = course::visible_keys(call, 0, q.extent(1), 0, k.extent(1));
  lesson06::attention_backward(q.heads(), k.heads(), call.input("v").heads(), call.input("o").heads(),
                               call.input("lse").matrix(), call.input("d_o").heads(),
                               call.input("d_lse").matrix(), visible, call.integer("block"),
                               call.output("dq", q.shape()).heads(), call.output("dk", k.shape()).heads(),
                               call.output("dv", k.shape()).heads());
}

/// Weights of a whole shard against a whole block would not stay in the cache, nor always fit in memory.
constexpr Index keys_at_once = 128;

/// Every query sees all of the block's keys, unless it sees no key at all.
std::vector<Index> keys_seen(std::span<const float> lse, Index keys) {
  std::vector<Index> visible(lse.size(), keys);
  for (std::size_t i = 0; i < lse.size(); ++i) {
    if (lse[i] == -std::numeric_limits<float>::infinity()) visible[i] = 0;
  }
  return visible;
}

/// A ring's block, a tile of keys at a time.
void accumulate(const course::BlockRequest& request, HeadsView<const float> d_o, MatrixView<const float> lse,
                MatrixView<const float> delta, HeadsView<float> dq, HeadsView<float> dk,
                HeadsView<float> dv) {
  const Index group = request.q.heads() / std::max<Index>(1, request.k.heads());
  for (Index head = 0; head < request.q.heads(); ++head) {
    const Index kv = head / group;
    for (Index first = 0; first < request.k.seq(); first += keys_at_once) {
      const Index keys = std::min(keys_at_once, request.k.seq() - first);
      lesson06::block_backward(request.q.head(head), request.k.head(kv).rows(first, keys),
                               request.v.head(kv).rows(first, keys), d_o.head(head), lse.row(head),
                               delta.row(head), keys_seen(lse.row(head), keys), dq.head(head),
                               dk.head(kv).rows(first, keys), dv.head(kv).rows(first, keys));
      if (request.between_tiles) request.between_tiles();
    }
  }
}

}  // namespace

const course::LessonBlocks& course_blocks() {
  static const course::LessonBlocks blocks{{}, {accumulate}};
  return blocks;
}

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"softmax_backward", softmax_backward},
                                       {"block_backward", block_backward},
                                       {"attention_backward", attention_backward}};
  return adapter;
}
