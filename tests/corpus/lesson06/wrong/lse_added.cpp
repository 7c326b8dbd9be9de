// wrong: lse is added to the scores, not subtracted
// line: course::exponentiate(p_row.first(seen), -lse[first + i]);
// rating: led
#include "attention_backward.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson06 {

using course::Index;

void softmax_backward(course::MatrixView<const float> p, course::MatrixView<const float> dp,
                      std::span<const float> d_lse, course::MatrixView<float> ds) {
  for (Index i = 0; i < p.rows(); ++i) {
    const float delta = course::dot(p.row(i), dp.row(i)) - d_lse[i];
    for (Index j = 0; j < p.cols(); ++j) ds(i, j) = p(i, j) * (dp(i, j) - delta);
  }
}

namespace {

/// A tile's weights and their gradients are made and used while they are still in the cache.
constexpr Index tile_queries = 256;

}  // namespace

void block_backward(course::MatrixView<const float> q, course::MatrixView<const float> k,
                    course::MatrixView<const float> v, course::MatrixView<const float> d_o,
                    std::span<const float> lse, std::span<const float> delta, std::span<const Index> visible,
                    course::MatrixView<float> dq, course::MatrixView<float> dk,
                    course::MatrixView<float> dv) {
  const Index keys = k.rows();
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.cols()));
  std::vector<float> p_room(std::min(tile_queries, q.rows()) * keys);
  std::vector<float> ds_room(p_room.size());
  for (Index first = 0; first < q.rows(); first += tile_queries) {
    const Index queries = std::min(tile_queries, q.rows() - first);
    const course::MatrixView<const float> q_tile = q.rows(first, queries);
    const course::MatrixView<const float> d_o_tile = d_o.rows(first, queries);
    const course::MatrixView<float> p(p_room.data(), queries, keys);
    const course::MatrixView<float> ds(ds_room.data(), queries, keys);

    course::gemm(scale, q_tile, course::transposed(k), 0.0f, p);
    course::gemm(1.0f, d_o_tile, course::transposed(v), 0.0f, ds);  // so far this is dp
    for (Index i = 0; i < queries; ++i) {
      const Index seen = visible[first + i];
      const std::span<float> p_row = p.row(i);
      const std::span<float> ds_row = ds.row(i);
      course::exponentiate(p_row.first(seen), -lse[first + i]);
      std::ranges::fill(p_row.subspan(seen), 0.0f);
      for (Index j = 0; j < keys; ++j) ds_row[j] = p_row[j] * (ds_row[j] - delta[first + i]);
    }
    course::gemm(1.0f, course::transposed(p), d_o_tile, 1.0f, dv);
    course::gemm(scale, ds, k, 1.0f, dq.rows(first, queries));
    course::gemm(scale, course::transposed(ds), q_tile, 1.0f, dk);
  }
}

void attention_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                        course::HeadsView<const float> v, course::HeadsView<const float> o,
                        course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
                        course::MatrixView<const float> d_lse, std::span<const Index> visible, Index block,
                        course::HeadsView<float> dq, course::HeadsView<float> dk,
                        course::HeadsView<float> dv) {
  for (const auto& gradient : {dq, dk, dv}) std::fill_n(gradient.data(), gradient.size(), 0.0f);
  std::vector<float> delta(q.seq());
  std::vector<Index> seen(q.seq());
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) {
      delta[i] = course::dot(o.head(head).row(i), d_o.head(head).row(i)) - d_lse(head, i);
    }
    for (Index first = 0; first < k.seq(); first += block) {
      const Index keys = std::min(block, k.seq() - first);
      for (Index i = 0; i < q.seq(); ++i) seen[i] = std::clamp<Index>(visible[i] - first, 0, keys);
      block_backward(q.head(head), k.head(head).rows(first, keys), v.head(head).rows(first, keys),
                     d_o.head(head), lse.row(head), delta, seen, dq.head(head),
                     dk.head(head).rows(first, keys), dv.head(head).rows(first, keys));
    }
  }
}

}  // namespace lesson06
