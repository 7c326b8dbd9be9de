// wrong: the maximum of a block of two or more scores leaves out the block's last score
// line:     const float block_max = *std::max_element(row + from, row + to - 1);
// rating: not led
#include "online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lesson02 {

namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// What a sum that counts from `old_m` is multiplied by to count from `new_m`.
float rebase(float old_m, float new_m) {
  return old_m == kNothing ? 0.0f : std::exp(old_m - new_m);
}

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

struct Running {
  float m = kNothing;
  float l = 0.0f;
  std::span<float> O;

  void move_to(float new_m) {
    const float factor = rebase(m, new_m);
    l *= factor;
    for (float& x : O) x *= factor;
    m = new_m;
  }

  void add(float weight, std::span<const float> v) {
    l += weight;
    for (std::size_t c = 0; c < O.size(); ++c) O[c] += weight * v[c];
  }
};

}  // namespace

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  const float m = std::max(a.m, b.m);
  return {m, rebase(a.m, m) * a.l + rebase(b.m, m) * b.l};
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  std::fill(o.begin(), o.end(), 0.0f);
  Running state{.O = o};
  const float* row = scores.data();

  course::Index to = 0;
  for (course::Index from = 0; from < std::ssize(scores); from = to) {
    to = std::min(from + block, std::ssize(scores));
    const float block_max = *std::max_element(row + from, row + to - 1);
    const float m = std::max(state.m, block_max);
    if (m == kNothing) continue;
    state.move_to(m);
    for (course::Index j = from; j < to; ++j) state.add(std::exp(scores[j] - m), values.row(j));
  }

  if (state.m == kNothing) return kNothing;
  for (float& x : o) x /= state.l;
  return state.m + std::log(state.l);
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  if (lse == kNothing && lse_b == kNothing) return;
  const float share = sigmoid(lse_b - lse);
  for (std::size_t c = 0; c < o.size(); ++c) o[c] -= share * (o[c] - o_b[c]);
  const float larger = std::max(lse, lse_b);
  lse = larger + std::log1p(std::exp(std::min(lse, lse_b) - larger));
}

}  // namespace lesson02
