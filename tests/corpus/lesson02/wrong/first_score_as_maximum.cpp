// wrong: a block's first score is taken for its maximum
// line: const float m = std::max(state.m, scores[0]);
// rating: not led
#include "online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lesson/not_implemented.hpp"

namespace lesson02 {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

}  // namespace

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  const float m = std::max(a.m, b.m);
  if (m == minus_infinity) return {};
  return {m, a.l * std::exp(a.m - m) + b.l * std::exp(b.m - m)};
}

namespace {

/// Adds a block of scores [n] and values [n, d] to the state and to o [d], which is sum exp(s - m) v.
void see_block(std::span<const float> scores, course::MatrixView<const float> values, SoftmaxState& state,
               std::span<float> o) {
  const float m = std::max(state.m, scores[0]);
  if (m == minus_infinity) return;  // only masked scores so far
  const float correction = std::exp(state.m - m);
  state.l *= correction;
  for (float& component : o) component *= correction;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const float weight = std::exp(scores[j] - m);
    state.l += weight;
    for (std::size_t c = 0; c < o.size(); ++c) o[c] += weight * values(j, c);
  }
  state.m = m;
}

}  // namespace

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  const course::Index n = std::ssize(scores);
  SoftmaxState state;
  std::ranges::fill(o, 0.0f);
  for (course::Index first = 0; first < n; first += block) {
    const course::Index count = std::min(block, n - first);
    see_block(scores.subspan(first, count), values.rows(first, count), state, o);
  }
  if (state.m == minus_infinity) return minus_infinity;
  for (float& component : o) component /= state.l;
  return state.m + std::log(state.l);
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  if (lse_b == minus_infinity) return;
  const float weight_b = 1.0f / (1.0f + std::exp(lse - lse_b));  // sigmoid(lse_b - lse); 1 / inf = 0 is right
  for (std::size_t c = 0; c < o.size(); ++c) o[c] -= weight_b * (o[c] - o_b[c]);
  const float m = std::max(lse, lse_b);
  lse = m + std::log1p(std::exp(std::min(lse, lse_b) - m));
}

}  // namespace lesson02
