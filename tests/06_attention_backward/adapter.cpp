#include "player/adapter.hpp"

#include <algorithm>

#include "attention_backward.hpp"

namespace {

using course::HeadsView;
using course::Index;
using course::Tensor;

/// Query i sees keys 0 .. i + offset; how many of the keys from `first_key` on, `keys` in number, that are.
std::vector<Index> visible_keys(Index first_query, Index queries, Index first_key, Index keys, Index offset) {
  std::vector<Index> visible(queries);
  for (Index i = 0; i < queries; ++i) {
    visible[i] = std::clamp<Index>(first_query + i + offset + 1 - first_key, 0, keys);
  }
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
        lesson06::block_backward(q.head(head).rows(query, queries), k.head(head).rows(key, keys),
                                 v.head(head).rows(key, keys), d_o.head(head).rows(query, queries), lse,
                                 delta, visible_keys(query, queries, key, keys, call.integer("offset")),
                                 dq.head(head).rows(query, queries), dk.head(head).rows(key, keys),
                                 dv.head(head).rows(key, keys));
        key += block;
      } while (key < k.seq());
      query += query_block;
    } while (query < q.seq());
  }
}

void attention_backward(course::Call& call) {
  const Tensor& q = call.input("q");
  const Tensor& k = call.input("k");
  const std::vector<Index> visible = visible_keys(0, q.extent(1), 0, k.extent(1), call.integer("offset"));
  lesson06::attention_backward(q.heads(), k.heads(), call.input("v").heads(), call.input("o").heads(),
                               call.input("lse").matrix(), call.input("d_o").heads(),
                               call.input("d_lse").matrix(), visible, call.integer("block"),
                               call.output("dq", q.shape()).heads(), call.output("dk", k.shape()).heads(),
                               call.output("dv", k.shape()).heads());
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"softmax_backward", softmax_backward},
                                       {"block_backward", block_backward},
                                       {"attention_backward", attention_backward}};
  return adapter;
}
