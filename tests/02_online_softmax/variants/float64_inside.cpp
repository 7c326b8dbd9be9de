#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "online_softmax.hpp"

namespace lesson02 {

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

}  // namespace

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  const double m = std::max(a.m, b.m);
  if (m == minus_infinity) return {};
  const double l = a.l * std::exp(a.m - m) + b.l * std::exp(b.m - m);
  return {static_cast<float>(m), static_cast<float>(l)};
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  const course::Index n = std::ssize(scores);
  double m = minus_infinity;
  double l = 0;
  std::vector<double> sum(o.size(), 0.0);
  for (course::Index first = 0; first < n; first += block) {
    const course::Index last = std::min(first + block, n);
    double m_new = m;
    for (course::Index j = first; j < last; ++j) m_new = std::max<double>(m_new, scores[j]);
    if (m_new == minus_infinity) continue;
    const double correction = std::exp(m - m_new);
    l *= correction;
    for (double& component : sum) component *= correction;
    for (course::Index j = first; j < last; ++j) {
      const double weight = std::exp(scores[j] - m_new);
      l += weight;
      for (std::size_t c = 0; c < o.size(); ++c) sum[c] += weight * values(j, c);
    }
    m = m_new;
  }
  for (std::size_t c = 0; c < o.size(); ++c) o[c] = static_cast<float>(l == 0 ? 0 : sum[c] / l);
  return static_cast<float>(m + std::log(l));
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  const double m = std::max(lse, lse_b);
  if (m == minus_infinity) return;
  const double a = std::exp(lse - m);
  const double b = std::exp(lse_b - m);
  for (std::size_t c = 0; c < o.size(); ++c) o[c] = static_cast<float>((a * o[c] + b * o_b[c]) / (a + b));
  lse = static_cast<float>(m + std::log(a + b));
}

}  // namespace lesson02
