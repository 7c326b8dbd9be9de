#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "ring/softmax_state.hpp"

/// The arithmetic that lesson 03 is given: the player hands it to the submission, and the judge's known
/// mistakes compute with it, so that a mistaken answer overflows where the submission's does.
namespace softmax_steps {

using course::SoftmaxState;

/// exp(score - m), where a masked score, or one that is all there is to see, weighs nothing.
inline float weight(float score, float m) {
  return m == -std::numeric_limits<float>::infinity() ? 0.0f : std::exp(score - m);
}

inline SoftmaxState local(std::span<const float> scores) {
  SoftmaxState state;
  for (const float score : scores) state.m = std::max(state.m, score);
  for (const float score : scores) state.l += weight(score, state.m);
  return state;
}

inline SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  const float m = std::max(a.m, b.m);
  return {m, a.l * weight(a.m, m) + b.l * weight(b.m, m)};
}

inline void write(std::span<const float> x, SoftmaxState whole, std::span<float> p) {
  for (std::size_t j = 0; j < x.size(); ++j) {
    const float numerator = weight(x[j], whole.m);
    p[j] = numerator == 0.0f ? 0.0f : numerator / whole.l;
  }
}

}  // namespace softmax_steps
