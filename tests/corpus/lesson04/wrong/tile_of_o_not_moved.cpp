// wrong: every tile of queries is written to the first rows of o
// line: const course::MatrixView<float> o_tile = o.rows(0, queries);
// rating: led
#include "blockwise_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson04 {

using course::Index;

namespace {

/// A tile's scores are made, exponentiated and used while they are still in the cache.
constexpr Index tile_queries = 256;

}  // namespace

void attend_block(course::MatrixView<const float> q, course::MatrixView<const float> k,
                  course::MatrixView<const float> v, std::span<float> m, std::span<float> l,
                  course::MatrixView<float> o) {
  if (k.rows() == 0) return;  // else m would stay -inf, and -inf - (-inf) is not a number
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.cols()));
  std::vector<float> room(std::min(tile_queries, q.rows()) * k.rows());
  for (Index first = 0; first < q.rows(); first += tile_queries) {
    const Index queries = std::min(tile_queries, q.rows() - first);
    const course::MatrixView<float> scores(room.data(), queries, k.rows());
    const course::MatrixView<float> o_tile = o.rows(0, queries);

    course::gemm(scale, q.rows(first, queries), course::transposed(k), 0.0f, scores);
    for (Index i = 0; i < queries; ++i) {
      const std::span<float> row = scores.row(i);
      const float old_m = m[first + i];
      const float new_m = std::max(old_m, course::maximum(row));
      const float rescale = std::exp(old_m - new_m);  // of the first block it is exp(-inf), which is 0
      const float sum = course::exponentiate(row, new_m);
      m[first + i] = new_m;
      l[first + i] = rescale * l[first + i] + sum;
      course::scal(rescale, o_tile.row(i));
    }
    course::gemm(1.0f, scores, v, 1.0f, o_tile);
  }
}

void blockwise_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                         course::HeadsView<const float> v, Index block, course::HeadsView<float> o,
                         course::MatrixView<float> lse) {
  constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
  for (Index head = 0; head < q.heads(); ++head) {
    const auto o_head = o.head(head);
    std::vector<float> m(q.seq(), minus_infinity);
    std::vector<float> l(q.seq(), 0.0f);
    std::fill_n(o_head.data(), o_head.size(), 0.0f);
    for (Index first = 0; first < k.seq(); first += block) {
      const Index keys = std::min(block, k.seq() - first);
      attend_block(q.head(head), k.head(head).rows(first, keys), v.head(head).rows(first, keys), m, l,
                   o_head);
    }
    for (Index i = 0; i < q.seq(); ++i) {
      lse(head, i) = m[i] + std::log(l[i]);
      if (m[i] == minus_infinity) continue;  // no keys: o stays 0 and lse is -inf
      for (float& value : o_head.row(i)) value /= l[i];
    }
  }
}

}  // namespace lesson04
