// wrong: a row without any score returns before o is set to 0
// line:   if (scores.empty()) return -std::numeric_limits<float>::infinity();
// rating: led
#include "online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lesson02 {

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  const auto m = std::max(a.m, b.m);
  if (!std::isfinite(m)) return SoftmaxState{};

  const auto rebased = [m](SoftmaxState s) { return std::exp(s.m - m) * s.l; };
  return {m, rebased(a) + rebased(b)};
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  if (scores.empty()) return -std::numeric_limits<float>::infinity();

  std::ranges::fill(o, 0.0f);
  float m = -std::numeric_limits<float>::infinity();
  float l = 0.0f;

  course::Index j = 0;
  while (j < std::ssize(scores)) {
    const course::Index stop = std::min<course::Index>(j + block, std::ssize(scores));
    const float m2 = std::max(m, std::ranges::max(scores.subspan(j, stop - j)));
    if (!std::isfinite(m2)) {
      j = stop;
      continue;
    }

    const float f = std::exp(m - m2);
    std::ranges::for_each(o, [f](float& x) { x *= f; });
    l *= f;
    m = m2;

    for (; j < stop; ++j) {
      const float p = std::exp(scores[j] - m);
      l += p;
      for (std::size_t k = 0; k < o.size(); ++k) o[k] += p * values(j, k);
    }
  }

  if (!std::isfinite(m)) return m;
  std::ranges::for_each(o, [l](float& x) { x /= l; });
  return m + std::log(l);
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  const auto [lo, hi] = std::minmax({lse, lse_b});
  if (!std::isfinite(hi)) return;

  const auto sigmoid = [](float x) { return 1.0f / (1.0f + std::exp(-x)); };
  const float keep = sigmoid(lse - lse_b);
  const float take = sigmoid(lse_b - lse);
  for (std::size_t k = 0; k < o.size(); ++k) o[k] = keep * o[k] + take * o_b[k];

  lse = hi + std::log1p(std::exp(lo - hi));
}

}  // namespace lesson02
