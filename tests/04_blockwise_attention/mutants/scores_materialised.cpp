#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "blockwise_attention.hpp"

namespace lesson04 {

using course::Index;

namespace {

float dot(std::span<const float> a, std::span<const float> b) {
  float sum = 0.0f;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

/// Adds one key's weight to what a query remembers, rescaling it first when the key scores highest so far.
void add_key(float score, std::span<const float> value, float& m, float& l, std::span<float> o) {
  const float new_m = std::max(m, score);
  const float rescale = std::exp(m - new_m);
  const float p = std::exp(score - new_m);
  m = new_m;
  l = l * rescale + p;
  for (std::size_t c = 0; c < o.size(); ++c) o[c] = o[c] * rescale + p * value[c];
}

}  // namespace

void attend_block(course::MatrixView<const float> q, course::MatrixView<const float> k,
                  course::MatrixView<const float> v, std::span<float> m, std::span<float> l,
                  course::MatrixView<float> o) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.cols()));
  for (Index i = 0; i < q.rows(); ++i) {
    for (Index j = 0; j < k.rows(); ++j)
      add_key(scale * dot(q.row(i), k.row(j)), v.row(j), m[i], l[i], o.row(i));
  }
}

void blockwise_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                         course::HeadsView<const float> v, Index, course::HeadsView<float> o,
                         course::MatrixView<float> lse) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  for (Index head = 0; head < q.heads(); ++head) {
    std::vector<float> scores(q.seq() * k.seq());
    for (Index i = 0; i < q.seq(); ++i) {
      for (Index j = 0; j < k.seq(); ++j) {
        scores[i * k.seq() + j] = scale * dot(q.head(head).row(i), k.head(head).row(j));
      }
    }
    for (Index i = 0; i < q.seq(); ++i) {
      const std::span<float> row(scores.data() + i * k.seq(), static_cast<std::size_t>(k.seq()));
      float m = -std::numeric_limits<float>::infinity();
      for (const float score : row) m = std::max(m, score);
      float l = 0.0f;
      for (float& score : row) l += score = std::exp(score - m);
      std::ranges::fill(o.head(head).row(i), 0.0f);
      for (Index j = 0; j < k.seq(); ++j) {
        for (Index c = 0; c < o.head_dim(); ++c) o(head, i, c) += row[j] / l * v(head, j, c);
      }
      lse(head, i) = m + std::log(l);
    }
  }
}

}  // namespace lesson04
