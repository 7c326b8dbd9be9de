#include <algorithm>
#include <cmath>
#include <limits>

#include "online_softmax.hpp"

namespace lesson02 {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// How far scores may rise above m before the sums are rescaled: exp(8) is far from float32's limit.
constexpr float headroom = 8.0f;

/// Counts from the first state's m, and from the second's only where that lies beyond the headroom.
float common_m(float m_a, float m_b) {
  return m_a == minus_infinity || m_b > m_a + headroom ? m_b : m_a;
}

}  // namespace

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  const float m = common_m(a.m, b.m);
  if (m == minus_infinity) return a;
  return {m, a.l * std::exp(a.m - m) + b.l * std::exp(b.m - m)};
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  float m = minus_infinity;
  float l = 0.0f;
  std::ranges::fill(o, 0.0f);
  for (course::Index first = 0; first < values.rows(); first += block) {
    const course::Index count = std::min(block, values.rows() - first);
    const float m_new = common_m(m, std::ranges::max(scores.subspan(first, count)));
    if (m_new == minus_infinity) continue;
    if (m_new != m) {
      const float correction = std::exp(m - m_new);
      l *= correction;
      for (float& component : o) component *= correction;
      m = m_new;
    }
    for (course::Index j = first; j < first + count; ++j) {
      const float weight = std::exp(scores[j] - m);
      l += weight;
      for (std::size_t c = 0; c < o.size(); ++c) o[c] += weight * values(j, c);
    }
  }
  if (m == minus_infinity) return minus_infinity;
  for (float& component : o) component /= l;
  return m + std::log(l);
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  if (std::max(lse, lse_b) == minus_infinity) return;
  const float difference = lse_b - lse;
  const float softplus = std::max(difference, 0.0f) + std::log1p(std::exp(-std::abs(difference)));
  const float share = 1.0f / (1.0f + std::exp(-difference));
  for (std::size_t c = 0; c < o.size(); ++c) o[c] = std::lerp(o[c], o_b[c], share);
  lse = lse == minus_infinity ? lse_b : lse + softplus;
}

}  // namespace lesson02
