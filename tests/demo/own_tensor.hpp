#pragma once

#include "tensor/tensor.hpp"

namespace course {

/// Multiples of 1/16 up to 4 in magnitude, which float16 holds.
inline Tensor own_tensor(const Shape& shape, int seed) {
  Tensor tensor(shape);
  for (Index i = 0; i < tensor.size(); ++i) {
    const int step = static_cast<int>((i * 37 + seed * 101 + i * i * 7) % 64) + 1;
    tensor[i] = static_cast<float>(i % 3 == 0 ? -step : step) / 16;
  }
  return tensor;
}

}  // namespace course
