// wrong: two states with the same maximum are taken for two empty ones, so the second one's sum is lost
// line:   if (a.m == b.m) return a;
// rating: led
#include "online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lesson02 {

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  // -inf minus -inf would be NaN
  if (a.m == b.m) return a;
  const float m = std::max(a.m, b.m);
  return {m, std::exp(a.m - m) * a.l + std::exp(b.m - m) * b.l};
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  const float minus_inf = -std::numeric_limits<float>::infinity();
  const course::Index n = std::ssize(scores);
  std::fill(o.begin(), o.end(), 0.0f);

  float m = minus_inf;
  float l = 0.0f;
  for (course::Index first = 0; first < n; first += block) {
    const course::Index last = std::min(first + block, n);

    float m_new = m;
    for (course::Index j = first; j < last; ++j) m_new = std::max(m_new, scores[j]);
    if (m_new == minus_inf) continue;

    const float factor = std::exp(m - m_new);
    l *= factor;
    for (float& x : o) x *= factor;
    for (course::Index j = first; j < last; ++j) {
      const float e = std::exp(scores[j] - m_new);
      l += e;
      for (course::Index c = 0; c < values.cols(); ++c) o[c] += e * values(j, c);
    }
    m = m_new;
  }

  if (m == minus_inf) return minus_inf;
  for (float& x : o) x /= l;
  return m + std::log(l);
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  const float hi = std::max(lse, lse_b);
  const float lo = std::min(lse, lse_b);
  if (hi == -std::numeric_limits<float>::infinity()) return;
  const float w = 1.0f / (1.0f + std::exp(lse - lse_b));
  for (std::size_t c = 0; c < o.size(); ++c) o[c] -= w * (o[c] - o_b[c]);
  lse = hi + std::log1p(std::exp(lo - hi));
}

}  // namespace lesson02
