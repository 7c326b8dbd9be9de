#include "player/adapter.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "causal_ring.hpp"

namespace {

using course::Index;
using course::KeyRange;
using course::Tensor;

void key_ranges(course::Call& call) {
  std::vector<KeyRange> seen(call.integer("queries"), {-1, -1});
  lesson13::key_ranges(call.integer("first_query"), call.integer("first_key"), call.integer("keys"),
                       call.integer("offset"), seen);
  Tensor& firsts = call.output("first", {std::ssize(seen), 1});
  Tensor& lasts = call.output("last", {std::ssize(seen), 1});
  for (Index i = 0; i < std::ssize(seen); ++i) {
    // Where a range of no keys lies makes no difference, if only it lies in the block.
    const auto [first, last] = seen[i];
    const bool empty = first == last && 0 <= first && last <= call.integer("keys");
    firsts[i] = empty ? 0.0f : static_cast<float>(first);
    lasts[i] = empty ? 0.0f : static_cast<float>(last);
  }
}

void work(course::Call& call) {
  const std::vector<int> shard_tokens = call.integers("shards");
  const int ranks = static_cast<int>(shard_tokens.size());
  Tensor& scores = call.output("scores", {ranks, ranks});
  for (int rank = 0; rank < ranks; ++rank) {
    for (int step = 0; step < ranks; ++step) {
      scores.matrix()(rank, step) =
          static_cast<float>(lesson13::work(rank, step, shard_tokens, call.integer("offset")));
    }
  }
}

/// The part of the queries' ranges that lies in the block of `keys` keys from key `begin` on.
std::vector<KeyRange> in_block(const course::Call& call, Index begin, Index keys) {
  const std::vector<int> first = call.integers("first"), last = call.integers("last");
  std::vector<KeyRange> seen;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Index from = std::clamp<Index>(first[i] - begin, 0, keys);
    seen.push_back({from, std::clamp<Index>(last[i] - begin, from, keys)});
  }
  return seen;
}

/// Walks the blocks, and divides. With no keys the function is called once, without keys.
void attend_seen(course::Call& call) {
  const Tensor& q = call.input("q");
  course::AttentionState state(q.extent(0), q.extent(1), q.extent(2));
  const Index all = call.input("k").extent(1), block = call.integer("block");
  Index begin = 0;
  do {
    const Index keys = std::min(block, all - begin);
    const Tensor k = slice(call.input("k"), 1, begin, keys), v = slice(call.input("v"), 1, begin, keys);
    lesson13::attend_seen(q.heads(), k.heads(), v.heads(), in_block(call, begin, keys), state);
    begin += block;
  } while (begin < all);
  Tensor& o = call.output("o", q.shape());
  Tensor& lse = call.output("lse", {q.extent(0), q.extent(1)});
  for (Index row = 0; row < lse.size(); ++row) {
    const float l = state.l().data()[row];
    lse[row] = state.m().data()[row] + std::log(l);
    for (Index i = row * q.extent(2); i < (row + 1) * q.extent(2); ++i)
      o[i] = l == 0.0f ? state.o().data()[i] : state.o().data()[i] / l;
  }
}

void causal_ring_attention(course::Call& call) {
  const Tensor& q = call.input("q");
  lesson13::causal_ring_attention(
      q.heads(), call.input("k").heads(), call.input("v").heads(), call.output("o", q.shape()).heads(),
      call.output("lse", {q.extent(0), q.extent(1)}).matrix(), call.integers("shard_tokens"),
      call.integer("offset"), call.blocks().masked_forward(), call.communicator<MPI_Comm>());
}

void causal_ring_backward(course::Call& call) {
  const Tensor& q = call.input("q");
  lesson13::causal_ring_backward(q.heads(), call.input("k").heads(), call.input("v").heads(),
                                 call.input("o").heads(), call.input("lse").matrix(),
                                 call.input("d_o").heads(), call.output("dq", q.shape()).heads(),
                                 call.output("dk", q.shape()).heads(), call.output("dv", q.shape()).heads(),
                                 call.integers("shard_tokens"), call.integer("offset"),
                                 call.blocks().masked_backward(), call.communicator<MPI_Comm>());
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"key_ranges", key_ranges},
                                       {"work", work},
                                       {"attend_seen", attend_seen},
                                       {"causal_ring_attention", causal_ring_attention},
                                       {"causal_ring_backward", causal_ring_backward}};
  return adapter;
}
