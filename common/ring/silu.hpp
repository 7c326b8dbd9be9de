#pragma once

#include <cmath>

namespace course {

/// x / (1 + exp(-x)).
inline float silu(float x) {
  return x / (1.0f + std::exp(-x));
}

/// d silu / dx.
inline float silu_derivative(float x) {
  const float s = 1.0f / (1.0f + std::exp(-x));
  return s * (1.0f + x * (1.0f - s));
}

}  // namespace course
