// wrong: abs without std:: is the one for int, so the difference of the two lse loses what is behind its point
// line:   lse = fmaxf(lse, lse_b) + log1pf(expf(-abs(lse - lse_b)));
// rating: led
#include "online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lesson02 {

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  SoftmaxState r;
  r.m = fmaxf(a.m, b.m);
  if (r.m == -INFINITY) return r;
  r.l = a.l * expf(a.m - r.m) + b.l * expf(b.m - r.m);
  return r;
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  const int n = (int)scores.size();
  const int d = (int)o.size();
  float m = -INFINITY;
  float l = 0.f;
  for (int c = 0; c < d; c++) o[c] = 0.f;

  int j = 0;
  while (j < n) {
    const int j_end = (block < n - j) ? j + (int)block : n;

    float mb = -INFINITY;
    for (int k = j; k < j_end; k++) mb = fmaxf(mb, scores[k]);
    if (mb == -INFINITY) {
      j = j_end;  // the whole block is masked
      continue;
    }

    const float mn = fmaxf(m, mb);
    const float corr = expf(m - mn);
    l *= corr;
    for (int c = 0; c < d; c++) o[c] *= corr;

    for (; j < j_end; j++) {
      const float p = expf(scores[j] - mn);
      l += p;
      for (int c = 0; c < d; c++) o[c] += p * values(j, c);
    }
    m = mn;
  }

  if (m == -INFINITY) return -INFINITY;
  for (int c = 0; c < d; c++) o[c] /= l;
  return m + logf(l);
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  const int d = (int)o.size();
  if (lse_b == -INFINITY) return;
  if (lse == -INFINITY) {
    for (int c = 0; c < d; c++) o[c] = o_b[c];
    lse = lse_b;
    return;
  }
  const float w = 1.f / (1.f + expf(lse - lse_b));
  for (int c = 0; c < d; c++) o[c] -= w * (o[c] - o_b[c]);
  lse = fmaxf(lse, lse_b) + log1pf(expf(-abs(lse - lse_b)));
}

}  // namespace lesson02
