#pragma once

#include <optional>
#include <string>

#include "demo/options.hpp"
#include "tensor/tensor.hpp"

namespace course::demo {

/// What attention is computed of.
struct Input {
  Tensor q, k, v;                  ///< [heads, seq, head_dim], a batch folded into heads
  Shape shape;                     ///< as it was given
  std::string description;         ///< where it comes from, for people
  std::optional<Tensor> d_o = {};  ///< the gradient that arrives at the output, as q; none: forward only

  Index heads() const { return q.extent(0); }
  Index seq() const { return q.extent(1); }
  Index head_dim() const { return q.extent(2); }
};

/// Reads or draws the input. Throws NpyError or UsageError for a file that cannot be used: unreadable, of
/// another shape than [seq, dim], [heads, seq, dim] or [batch, heads, seq, dim], empty, with a NaN or an
/// infinity, or with numbers whose attention, or its gradients, float32 cannot hold.
Input load_input(const Options& options);

}  // namespace course::demo
