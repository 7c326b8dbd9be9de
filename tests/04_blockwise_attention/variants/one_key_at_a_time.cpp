#include <algorithm>
#include <cmath>
#include <limits>

#include "blockwise_attention.hpp"

namespace lesson04 {

using course::Index;

namespace {

float dot(std::span<const float> a, std::span<const float> b) {
  float sum = 0.0f;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

/// A block of one key: rescales only when the key scores highest so far.
void add_key(float score, std::span<const float> value, float& m, float& l, std::span<float> o) {
  if (score > m) {
    const float rescale = std::exp(m - score);
    l *= rescale;
    for (float& sum : o) sum *= rescale;
    m = score;
  }
  const float p = std::exp(score - m);
  l += p;
  for (std::size_t c = 0; c < o.size(); ++c) o[c] += p * value[c];
}

}  // namespace

void attend_block(course::MatrixView<const float> q, course::MatrixView<const float> k,
                  course::MatrixView<const float> v, std::span<float> m, std::span<float> l,
                  course::MatrixView<float> o) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.cols()));
  for (Index j = 0; j < k.rows(); ++j) {
    for (Index i = 0; i < q.rows(); ++i) {
      add_key(scale * dot(q.row(i), k.row(j)), v.row(j), m[i], l[i], o.row(i));
    }
  }
}

/// Query by query, with a state of two numbers.
void blockwise_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                         course::HeadsView<const float> v, Index block, course::HeadsView<float> o,
                         course::MatrixView<float> lse) {
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) {
      float m = -std::numeric_limits<float>::infinity();
      float l = 0.0f;
      const course::MatrixView<float> o_row = o.head(head).rows(i, 1);
      std::ranges::fill(o_row.row(0), 0.0f);
      for (Index first = 0; first < k.seq(); first += block) {
        const Index keys = std::min(block, k.seq() - first);
        attend_block(q.head(head).rows(i, 1), k.head(head).rows(first, keys), v.head(head).rows(first, keys),
                     {&m, 1}, {&l, 1}, o_row);
      }
      lse(head, i) = l > 0.0f ? m + std::log(l) : m;
      for (float& value : o_row.row(0)) value = l > 0.0f ? value / l : 0.0f;
    }
  }
}

}  // namespace lesson04
