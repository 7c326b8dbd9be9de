#pragma once

#include "tensor/view.hpp"

namespace course::timed {

/// The queries, keys and values of attention, all of one shape: a rank's, or everybody's.
struct Extents {
  Index heads = 1, tokens = 0, head_dim = 64;
};

/// Floating-point operations of attention, a multiplication and an addition counting as two: 2 n n d for the
/// scores of a head and as many for their product with the values.
inline double forward_operations(const Extents& extents) {
  const double tokens = static_cast<double>(extents.tokens);
  return 4 * tokens * tokens * static_cast<double>(extents.heads * extents.head_dim);
}

/// Those of its gradients: five such products, the scores again, dP, dV, dQ and dK.
inline double backward_operations(const Extents& extents) {
  return 2.5 * forward_operations(extents);
}

}  // namespace course::timed
