#pragma once

#include <algorithm>
#include <vector>

#include "player/adapter.hpp"

namespace course {

/// Query i sees keys 0 .. step * i + offset; how many of the keys from `first_key` on, `keys` in number, that
/// are.
inline std::vector<Index> visible_keys(const Call& call, Index first_query, Index queries, Index first_key,
                                       Index keys) {
  const Index step = call.integer("step"), offset = call.integer("offset");
  std::vector<Index> visible(queries);
  for (Index i = 0; i < queries; ++i)
    visible[i] = std::clamp<Index>(step * (first_query + i) + offset + 1 - first_key, 0, keys);
  return visible;
}

/// Walks blocks of queries and blocks of keys with a student's block_backward, so that each of the three
/// gradients is added to by several calls. With no queries or no keys it is called once a head, without them.
template <class BlockBackward>
void walk_block_backward(Call& call, BlockBackward block_backward) {
  const auto input = [&](const char* name) { return call.input(name).heads(); };
  const auto zeros_like = [&](const char* output, const char* like) {
    Tensor& made = call.output(output, call.input(like).shape());
    std::ranges::fill(made.values(), 0.0f);
    return made.heads();
  };
  const HeadsView<const float> q = input("q"), k = input("k"), v = input("v"), d_o = input("d_o");
  const HeadsView<float> dq = zeros_like("dq", "q"), dk = zeros_like("dk", "k"), dv = zeros_like("dv", "v");
  const Index query_block = call.integer("query_block"), block = call.integer("block");
  for (Index head = 0; head < q.heads(); ++head) {
    Index query = 0;
    do {
      const Index queries = std::min(query_block, q.seq() - query);
      const auto lse = call.input("lse").matrix().row(head).subspan(query, queries);
      const auto delta = call.input("delta").matrix().row(head).subspan(query, queries);
      Index key = 0;
      do {
        const Index keys = std::min(block, k.seq() - key);
        block_backward(q.head(head).rows(query, queries), k.head(head).rows(key, keys),
                       v.head(head).rows(key, keys), d_o.head(head).rows(query, queries), lse, delta,
                       visible_keys(call, query, queries, key, keys), dq.head(head).rows(query, queries),
                       dk.head(head).rows(key, keys), dv.head(head).rows(key, keys));
        key += block;
      } while (key < k.seq());
      query += query_block;
    } while (query < q.seq());
  }
}

}  // namespace course
