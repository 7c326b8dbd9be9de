#pragma once

#include <cmath>

#include "ring/block_attention.hpp"
#include "tensor/tensor.hpp"

namespace course {

/// Scores scaled by 1/sqrt(head_dim), as lessons 05 to 14 have them.
inline BlockRequest request_of(const Tensor& q, const Tensor& k, const Tensor& v) {
  return {q.heads(), k.heads(), v.heads(), 0, 1.0f / std::sqrt(static_cast<float>(q.extent(2)))};
}

inline BlockRequest request_of(const Tensor& q, const Tensor& k, const Tensor& v,
                               const std::vector<KeyRange>& seen) {
  BlockRequest request = request_of(q, k, v);
  request.seen = seen;
  return request;
}

}  // namespace course
