// right: sums in double, the maximum is followed only where a block exceeds it by more than 8, and masked scores are passed over
#include "online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lesson02 {

namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();
constexpr double slack = 8.0;

/// log(e^a + e^b) without a difference that could be NaN.
double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == nothing ? a : a + std::log1p(std::exp(b - a));
}

}  // namespace

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  if (b.l == 0.0f) return a;
  if (a.l == 0.0f) return b;
  const double m = std::max(a.m, b.m);
  const double l = a.l * std::exp(a.m - m) + b.l * std::exp(b.m - m);
  return {static_cast<float>(m), static_cast<float>(l)};
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  double m = nothing;
  double l = 0.0;
  std::vector<double> sums(o.size(), 0.0);

  const course::Index n = std::ssize(scores);
  for (course::Index first = 0; first < n;) {
    const course::Index end = n - first > block ? first + block : n;

    double highest = nothing;
    for (course::Index j = first; j < end; ++j) highest = std::max<double>(highest, scores[j]);
    if (highest > m + slack) {
      const double factor = m == nothing ? 0.0 : std::exp(m - highest);
      l *= factor;
      for (double& sum : sums) sum *= factor;
      m = highest;
    }

    for (course::Index j = first; j < end; ++j) {
      if (scores[j] == nothing) continue;
      const double weight = std::exp(scores[j] - m);
      l += weight;
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += weight * values(j, c);
    }
    first = end;
  }

  for (std::size_t c = 0; c < o.size(); ++c) o[c] = m == nothing ? 0.0f : static_cast<float>(sums[c] / l);
  return static_cast<float>(m == nothing ? m : m + std::log(l));
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  const double a = lse;
  const double b = lse_b;
  if (b == nothing) return;
  const double weight = a == nothing ? 1.0 : 1.0 / (1.0 + std::exp(a - b));
  for (std::size_t c = 0; c < o.size(); ++c) {
    o[c] = static_cast<float>((1.0 - weight) * o[c] + weight * o_b[c]);
  }
  lse = static_cast<float>(log_add(a, b));
}

}  // namespace lesson02
