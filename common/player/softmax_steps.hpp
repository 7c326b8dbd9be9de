#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "ring/softmax_state.hpp"

/// A softmax's arithmetic in float32 that a ring lesson is given: the player hands it to the submission, and
/// the judge's known mistakes compute with it, so that a mistaken answer overflows where the submission's
/// does. Handouts hold it, as they hold plain_attention.hpp.
namespace course::softmax_steps {

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// -inf where there are no scores.
inline float maximum(std::span<const float> scores) {
  float m = minus_infinity;
  for (const float score : scores) m = std::max(m, score);
  return m;
}

/// exp(score - m), where a masked score, or one that is all there is to see, weighs nothing.
inline float weight(float score, float m) {
  return m == minus_infinity ? 0.0f : std::exp(score - m);
}

inline SoftmaxState local(std::span<const float> scores) {
  SoftmaxState state{maximum(scores), 0.0f};
  for (const float score : scores) state.l += weight(score, state.m);
  return state;
}

/// The state of all these states' scores, by its definition: the largest of them, and all weights from there.
inline SoftmaxState merged(std::span<const SoftmaxState> parts) {
  SoftmaxState all{minus_infinity, 0.0f};
  for (const SoftmaxState& part : parts) all.m = std::max(all.m, part.m);
  for (const SoftmaxState& part : parts) all.l += part.l * weight(part.m, all.m);
  return all;
}

inline float logsumexp(SoftmaxState state) {
  return state.m + std::log(state.l);
}

inline void write(std::span<const float> x, SoftmaxState whole, std::span<float> p) {
  for (std::size_t j = 0; j < x.size(); ++j) {
    const float numerator = weight(x[j], whole.m);
    p[j] = numerator == 0.0f ? 0.0f : numerator / whole.l;
  }
}

}  // namespace course::softmax_steps
