#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "online_softmax.hpp"

namespace lesson02 {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
constexpr float log2_e = std::numbers::log2e_v<float>;
constexpr float ln_2 = std::numbers::ln2_v<float>;

/// exp(x) as 2^(x log2 e), which GPUs have an instruction for.
float exp_by_2(float x) {
  return std::exp2(x * log2_e);
}

}  // namespace

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  if (a.m < b.m) std::swap(a, b);
  if (b.m == minus_infinity) return a;
  return {a.m, a.l + b.l * exp_by_2(b.m - a.m)};
}

/// The blocks from last to first, each reduced to a state and an o of its own, then merged.
float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  SoftmaxState seen;
  std::ranges::fill(o, 0.0f);
  const course::Index blocks = (values.rows() + block - 1) / block;
  for (course::Index b = blocks - 1; b >= 0; --b) {
    const course::Index last = std::min((b + 1) * block, values.rows());
    SoftmaxState part;
    std::vector<float> o_part(o.size(), 0.0f);
    for (course::Index j = b * block; j < last; ++j) part.m = std::max(part.m, scores[j]);
    if (part.m == minus_infinity) continue;
    for (course::Index j = b * block; j < last; ++j) {
      const float weight = exp_by_2(scores[j] - part.m);
      part.l += weight;
      for (std::size_t c = 0; c < o.size(); ++c) o_part[c] += weight * values(j, c);
    }
    const SoftmaxState both = merge(seen, part);
    for (std::size_t c = 0; c < o.size(); ++c) {
      o[c] = o[c] * exp_by_2(seen.m - both.m) + o_part[c] * exp_by_2(part.m - both.m);
    }
    seen = both;
  }
  if (seen.m == minus_infinity) return minus_infinity;
  for (float& component : o) component /= seen.l;
  return seen.m + ln_2 * std::log2(seen.l);
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  if (lse_b == minus_infinity) return;
  if (lse == minus_infinity) {
    std::ranges::copy(o_b, o.begin());
    lse = lse_b;
    return;
  }
  const float larger = std::max(lse, lse_b);
  const float sum = exp_by_2(lse - larger) + exp_by_2(lse_b - larger);
  const float share = exp_by_2(lse_b - larger) / sum;
  for (std::size_t c = 0; c < o.size(); ++c) o[c] += share * (o_b[c] - o[c]);
  lse = larger + ln_2 * std::log2(sum);
}

}  // namespace lesson02
