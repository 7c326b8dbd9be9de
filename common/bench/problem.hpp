#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tensor/tensor.hpp"

namespace course::bench {

struct Extents {
  Index heads, tokens, head_dim;
};

/// Useful operations, a multiplication and an addition counting as two: two products of n x n x d a head.
double forward_operations(const Extents& extents);
/// Five of them: the scores again, dP, dV, dQ and dK.
double backward_operations(const Extents& extents);

/// Attention's input of one size, drawn with a fixed seed, and its answers by the float32 reference. Nothing
/// is masked, and only o has a gradient.
struct Problem {
  explicit Problem(const Extents& extents);

  Extents extents;
  /// q, k, v, d_o, o, dq, dk, dv: [heads, tokens, head_dim]; lse, d_lse: [heads, tokens].
  std::map<std::string, Tensor> tensors;

  int tokens() const { return static_cast<int>(extents.tokens); }
  /// q.npy and so on, for another process.
  void write(const std::filesystem::path& folder) const;
};

/// The norm of the difference over that of what is expected, the worst of the heads; infinite where `answer`
/// has a NaN.
double relative_error(HeadsView<const float> answer, HeadsView<const float> expected);

}  // namespace course::bench
