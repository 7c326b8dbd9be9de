// wrong: two states that have seen nothing merge to a maximum of 0, not of minus infinity, as in FlashAttention's kernels
// line:   const float m = larger == -INFINITY ? 0.0f : larger;
// rating: led
#include "online_softmax.hpp"

#include <algorithm>
#include <cmath>

namespace lesson02 {

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  const float larger = std::max(a.m, b.m);
  const float m = larger == -INFINITY ? 0.0f : larger;
  SoftmaxState both;
  both.m = m;
  both.l = a.l * std::exp(a.m - m) + b.l * std::exp(b.m - m);
  return both;
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  for (auto& entry : o) entry = 0.f;
  SoftmaxState state;

  auto rest = scores;
  course::Index row = 0;  // of values
  while (!rest.empty()) {
    const auto part = rest.first(std::min<std::size_t>(block, rest.size()));
    rest = rest.subspan(part.size());

    const float m_old = state.m;
    state.m = std::max(m_old, *std::max_element(part.begin(), part.end()));
    if (state.m == -INFINITY) {
      row += std::ssize(part);
      continue;
    }
    const float shrink = std::exp(m_old - state.m);
    state.l *= shrink;
    for (auto& entry : o) entry *= shrink;
    for (float s : part) {
      const float p = std::exp(s - state.m);
      state.l += p;
      const auto v = values.row(row++);
      for (std::size_t c = 0; c < o.size(); ++c) o[c] += p * v[c];
    }
  }
  if (state.m == -INFINITY) return -INFINITY;
  for (auto& entry : o) entry /= state.l;
  return state.m + std::log(state.l);
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  if (lse == -INFINITY && lse_b == -INFINITY) return;
  const float sigma_a = 1.f / (1.f + std::exp(lse_b - lse));
  const float sigma_b = 1.f / (1.f + std::exp(lse - lse_b));
  for (std::size_t c = 0; c < o.size(); ++c) o[c] = sigma_a * o[c] + sigma_b * o_b[c];
  const auto [least, most] = std::minmax({lse, lse_b});
  lse = most + std::log1p(std::exp(least - most));
}

}  // namespace lesson02
