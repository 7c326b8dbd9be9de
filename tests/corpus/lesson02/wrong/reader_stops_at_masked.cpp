// wrong: a masked first block ends the loop over the blocks, where only that block should be skipped
// line:     if (new_max == none) break;
// rating: led
#include "online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lesson02 {

namespace {
constexpr float none = -std::numeric_limits<float>::infinity();
}

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  float m = std::max(a.m, b.m);
  if (m == none) return {};
  return {m, a.l * std::exp(a.m - m) + b.l * std::exp(b.m - m)};
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  const course::Index n = std::ssize(scores), d = std::ssize(o);
  float max = none, sum = 0;
  for (course::Index i = 0; i < d; i++) o[i] = 0;

  for (course::Index start = 0; start < n; start += block) {
    course::Index end = std::min(start + block, n);

    float new_max = max;
    for (course::Index j = start; j < end; j++)
      if (scores[j] > new_max) new_max = scores[j];

    // nothing to see while the maximum is -inf
    if (new_max == none) break;

    float scale = std::exp(max - new_max);
    sum = sum * scale;
    for (course::Index i = 0; i < d; i++) o[i] = o[i] * scale;

    for (course::Index j = start; j < end; j++) {
      float p = std::exp(scores[j] - new_max);
      sum += p;
      for (course::Index i = 0; i < d; i++) o[i] += p * values(j, i);
    }
    max = new_max;
  }

  if (max == none) return none;
  for (course::Index i = 0; i < d; i++) o[i] /= sum;
  return max + std::log(sum);
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  if (lse_b == none) return;  // also if both are empty
  float sigmoid = 1 / (1 + std::exp(-(lse_b - lse)));
  for (size_t i = 0; i < o.size(); i++) o[i] = o[i] - sigmoid * (o[i] - o_b[i]);
  float big = std::max(lse, lse_b), small = std::min(lse, lse_b);
  lse = big + std::log1p(std::exp(small - big));
}

}  // namespace lesson02
