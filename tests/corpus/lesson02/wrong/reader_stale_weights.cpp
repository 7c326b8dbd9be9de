// wrong: one buffer of weights serves all blocks, and a shorter last block adds up what the block before left at its end
// line:     l = l * alpha + std::accumulate(p.begin(), p.end(), 0.0f);
// rating: led
#include "online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace lesson02 {

static const float NEG_INF = -std::numeric_limits<float>::infinity();

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  const float m = std::max(a.m, b.m);
  // both empty: any finite number instead of m, so that exp gets -inf and not NaN
  const float from = (m == NEG_INF) ? 0.0f : m;
  return {m, std::exp(a.m - from) * a.l + std::exp(b.m - from) * b.l};
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  const course::Index n = std::ssize(scores);
  const course::Index d = values.cols();
  std::vector<float> p(std::min(block, n));  // no allocation per block

  float m = NEG_INF;
  float l = 0.0f;
  std::fill(o.begin(), o.end(), 0.0f);

  for (course::Index j0 = 0; j0 < n; j0 += block) {
    const course::Index len = std::min(block, n - j0);
    const float* s = scores.data() + j0;

    const float mNew = std::max(m, *std::max_element(s, s + len));
    if (mNew == NEG_INF) continue;

    const float alpha = std::exp(m - mNew);
    std::transform(s, s + len, p.begin(), [mNew](float x) { return std::exp(x - mNew); });
    l = l * alpha + std::accumulate(p.begin(), p.end(), 0.0f);

    for (course::Index c = 0; c < d; ++c) o[c] *= alpha;
    for (course::Index j = 0; j < len; ++j) {
      for (course::Index c = 0; c < d; ++c) o[c] += p[j] * values(j0 + j, c);
    }
    m = mNew;
  }

  if (m == NEG_INF) return NEG_INF;
  const float inv = 1.0f / l;
  for (course::Index c = 0; c < d; ++c) o[c] *= inv;
  return m + std::log(l);
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  if (lse == NEG_INF && lse_b == NEG_INF) return;
  const float g = 1.0f / (1.0f + std::exp(lse - lse_b));
  std::transform(o.begin(), o.end(), o_b.begin(), o.begin(),
                 [g](float mine, float theirs) { return mine - g * (mine - theirs); });
  lse = std::max(lse, lse_b) + std::log1p(std::exp(std::min(lse, lse_b) - std::max(lse, lse_b)));
}

}  // namespace lesson02
