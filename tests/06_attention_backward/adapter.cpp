#include "player/adapter.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "attention_backward.hpp"

namespace {

using course::HeadsView;
using course::Index;
using course::MatrixView;
using course::Tensor;

/// Query i sees keys 0 .. step * i + offset; how many of the keys from `first_key` on, `keys` in number, that
/// are.
std::vector<Index> visible_keys(const course::Call& call, Index first_query, Index queries, Index first_key,
                                Index keys) {
  const Index step = call.integer("step"), offset = call.integer("offset");
  std::vector<Index> visible(queries);
  for (Index i = 0; i < queries; ++i)
    visible[i] = std::clamp<Index>(step * (first_query + i) + offset + 1 - first_key, 0, keys);
  return visible;
}

void softmax_backward(course::Call& call) {
  const Tensor& p = call.input("p");
  lesson06::softmax_backward(p.matrix(), call.input("dp").matrix(), call.input("d_lse").flat(),
                             call.output("ds", p.shape()).matrix());
}

Tensor& zeros_like(course::Call& call, const char* output, const char* input) {
  Tensor& made = call.output(output, call.input(input).shape());
  std::ranges::fill(made.values(), 0.0f);
  return made;
}

/// Walks blocks of queries and blocks of keys with the student's block_backward, so that each of the three
/// gradients is added to by several calls. With no queries or no keys it is called once a head, without them.
void block_backward(course::Call& call) {
  const HeadsView<const float> q = call.input("q").heads();
  const HeadsView<const float> k = call.input("k").heads();
  const HeadsView<const float> v = call.input("v").heads();
  const HeadsView<const float> d_o = call.input("d_o").heads();
  const HeadsView<float> dq = zeros_like(call, "dq", "q").heads();
  const HeadsView<float> dk = zeros_like(call, "dk", "k").heads();
  const HeadsView<float> dv = zeros_like(call, "dv", "v").heads();
  const Index query_block = call.integer("query_block");
  const Index block = call.integer("block");
  for (Index head = 0; head < q.heads(); ++head) {
    Index query = 0;
    do {
      const Index queries = std::min(query_block, q.seq() - query);
      const auto lse = call.input("lse").matrix().row(head).subspan(query, queries);
      const auto delta = call.input("delta").matrix().row(head).subspan(query, queries);
      Index key = 0;
      do {
        const Index keys = std::min(block, k.seq() - key);
        lesson06::block_backward(
            q.head(head).rows(query, queries), k.head(head).rows(key, keys), v.head(head).rows(key, keys),
            d_o.head(head).rows(query, queries), lse, delta, visible_keys(call, query, queries, key, keys),
            dq.head(head).rows(query, queries), dk.head(head).rows(key, keys), dv.head(head).rows(key, keys));
        key += block;
      } while (key < k.seq());
      query += query_block;
    } while (query < q.seq());
  }
}

void attention_backward(course::Call& call) {
  const Tensor& q = call.input("q");
  const Tensor& k = call.input("k");
  const std::vector<Index> visible = visible_keys(call, 0, q.extent(1), 0, k.extent(1));
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
