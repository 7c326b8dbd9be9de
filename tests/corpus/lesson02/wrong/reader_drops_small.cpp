// wrong: scores more than 10 below the maximum are left out to save their exponentials, though many of them still count
// line:       if (x < -10.0f) continue;
// rating: led
#include "online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lesson02 {

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  const bool a_is_larger = a.m >= b.m;
  const SoftmaxState& high = a_is_larger ? a : b;
  const SoftmaxState& low = a_is_larger ? b : a;
  if (low.m == -std::numeric_limits<float>::infinity()) return high;
  return {high.m, high.l + low.l * std::exp(low.m - high.m)};
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  const auto n = std::ssize(scores);
  auto m = -std::numeric_limits<float>::infinity();
  auto l = 0.0f;
  for (auto& out : o) out = 0.0f;

  for (course::Index b = 0; b < n; b += block) {
    const auto e = std::min(b + block, n);
    auto highest = scores[b];
    for (auto j = b + 1; j < e; ++j) highest = std::max(highest, scores[j]);

    // Only a block with a new maximum changes what has been summed.
    if (highest > m) {
      const auto factor = std::exp(m - highest);
      l *= factor;
      for (auto& out : o) out *= factor;
      m = highest;
    }

    for (auto j = b; j < e; ++j) {
      // A masked score adds nothing, and one far below next to nothing.
      if (scores[j] == -std::numeric_limits<float>::infinity()) continue;
      const auto x = scores[j] - m;
      if (x < -10.0f) continue;
      const auto weight = std::exp(x);
      l += weight;
      const auto value = values.row(j);
      for (std::size_t c = 0; c < o.size(); ++c) o[c] += weight * value[c];
    }
  }

  if (m == -std::numeric_limits<float>::infinity()) return m;
  for (auto& out : o) out /= l;
  return m + std::log(l);
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  const auto empty = -std::numeric_limits<float>::infinity();
  if (lse_b == empty) return;
  if (lse == empty) {
    std::copy(o_b.begin(), o_b.end(), o.begin());
    lse = lse_b;
    return;
  }
  const auto difference = lse_b - lse;
  const auto weight_b = 1.0f / (1.0f + std::exp(-difference));
  const auto weight_a = 1.0f / (1.0f + std::exp(difference));
  for (std::size_t c = 0; c < o.size(); ++c) o[c] = weight_a * o[c] + weight_b * o_b[c];
  lse = difference > 0 ? lse_b + std::log1p(std::exp(-difference)) : lse + std::log1p(std::exp(difference));
}

}  // namespace lesson02
