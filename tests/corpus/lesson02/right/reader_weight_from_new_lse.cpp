// right: the weight of the second part is taken from the merged lse, which is rounded; its writer took that for wrong
#include "online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lesson02 {

namespace {

bool is_empty(float m_or_lse) { return m_or_lse == -std::numeric_limits<float>::infinity(); }

float logaddexp(float a, float b) {
  const float max = std::max(a, b);
  const float min = std::min(a, b);
  return is_empty(max) ? max : max + std::log1p(std::exp(min - max));
}

}  // namespace

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  if (is_empty(a.m)) return b;
  if (is_empty(b.m)) return a;
  const float m = std::max(a.m, b.m);
  return {m, std::exp(a.m - m) * a.l + std::exp(b.m - m) * b.l};
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  SoftmaxState seen;
  for (float& x : o) x = 0.0f;
  for (course::Index begin = 0; begin < std::ssize(scores); begin += block) {
    const course::Index count = std::min(block, std::ssize(scores) - begin);
    const auto s = scores.subspan(begin, count);
    const auto v = values.rows(begin, count);

    float m = seen.m;
    for (const float score : s) m = std::max(m, score);
    if (is_empty(m)) continue;

    const float factor = std::exp(seen.m - m);
    seen.m = m;
    seen.l *= factor;
    for (float& x : o) x *= factor;
    for (course::Index j = 0; j < count; ++j) {
      const float p = std::exp(s[j] - m);
      seen.l += p;
      for (course::Index c = 0; c < v.cols(); ++c) o[c] += p * v(j, c);
    }
  }
  if (is_empty(seen.m)) return seen.m;
  for (float& x : o) x /= seen.l;
  return seen.m + std::log(seen.l);
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  const float merged = logaddexp(lse, lse_b);
  if (is_empty(merged)) return;
  const float w = std::exp(lse_b - merged);
  for (std::size_t c = 0; c < o.size(); ++c) o[c] -= w * (o[c] - o_b[c]);
  lse = merged;
}

}  // namespace lesson02
