// wrong: values is read as if it lay column by column, as Eigen's matrices do
// line:         sum += weight[j - begin] * v[c * n + j];
// rating: led
#include "online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lesson02 {

using course::Index;

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  if (a.m < b.m) std::swap(a, b);
  if (std::isinf(a.m)) return a;
  a.l += std::exp(b.m - a.m) * b.l;
  return a;
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           Index block, std::span<float> o) {
  const Index n = values.rows();
  const Index d = values.cols();
  const float* v = values.data();
  SoftmaxState state;
  std::fill(o.begin(), o.end(), 0.0f);

  for (Index begin = 0; begin < n; begin += block) {
    const Index end = std::min(begin + block, n);
    const float block_max = *std::max_element(scores.begin() + begin, scores.begin() + end);
    const float m = std::max(state.m, block_max);
    if (std::isinf(m)) continue;
    const float rebase = std::exp(state.m - m);

    std::vector<float> weight;
    float l = rebase * state.l;
    for (Index j = begin; j < end; ++j) {
      weight.push_back(std::exp(scores[j] - m));
      l += weight.back();
    }
    for (Index c = 0; c < d; ++c) {
      float sum = rebase * o[c];
      for (Index j = begin; j < end; ++j) {
        sum += weight[j - begin] * v[c * n + j];
      }
      o[c] = sum;
    }
    state = {m, l};
  }

  if (std::isinf(state.m)) return state.m;
  std::transform(o.begin(), o.end(), o.begin(), [&](float x) { return x / state.l; });
  return state.m + std::log(state.l);
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  const float top = std::max(lse, lse_b);
  if (std::isinf(top)) return;
  const float a = std::exp(lse - top);
  const float b = std::exp(lse_b - top);
  for (Index c = 0; c < std::ssize(o); ++c) o[c] = (a * o[c] + b * o_b[c]) / (a + b);
  lse = top + std::log(a + b);
}

}  // namespace lesson02
