#include <algorithm>
#include <cmath>
#include <limits>

#include "online_softmax.hpp"

namespace lesson02 {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

float log_add_exp(float a, float b) {
  const float m = std::max(a, b);
  return m == minus_infinity ? m : m + std::log1p(std::exp(std::min(a, b) - m));
}

}  // namespace

/// In log space: every state is (lse, 1), since (m, l) is not unique.
SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  const float lse = log_add_exp(a.m + std::log(a.l), b.m + std::log(b.l));
  return {lse, lse == minus_infinity ? 0.0f : 1.0f};
}

/// The block size changes nothing in the answer: here every score is a block, and masked ones are passed
/// over.
float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index, std::span<float> o) {
  float m = minus_infinity;
  float l = 0.0f;
  std::ranges::fill(o, 0.0f);
  for (course::Index j = 0; j < values.rows(); ++j) {
    if (scores[j] == minus_infinity) continue;
    const float m_new = std::max(m, scores[j]);
    const float correction = std::exp(m - m_new);
    const float weight = std::exp(scores[j] - m_new);
    l = l * correction + weight;
    for (std::size_t c = 0; c < o.size(); ++c) o[c] = o[c] * correction + weight * values(j, c);
    m = m_new;
  }
  const float norm = l > 0.0f ? 1.0f / l : 0.0f;
  for (float& component : o) component *= norm;
  return m + std::log(l);
}

/// Each part's weight is exp(its lse - the merged lse).
void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  const float m = std::max(lse, lse_b);
  if (m == minus_infinity) return;
  const float a = std::exp(lse - m);
  const float b = std::exp(lse_b - m);
  for (std::size_t c = 0; c < o.size(); ++c) o[c] = o[c] * (a / (a + b)) + o_b[c] * (b / (a + b));
  lse = log_add_exp(lse, lse_b);
}

}  // namespace lesson02
