#pragma once

#include <cmath>

#include "judge/attention/gradient_checks.hpp"
#include "judge/numbers/dot.hpp"

/// What the judges of attention's backward pass have in common, on one rank or round a ring.
namespace course {

template <class T>
void add_scaled(std::span<T> to, T factor, std::span<const T> from) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += factor * from[c];
}

/// factor a b^T for a [rows, d] and b [cols, d].
template <class T>
TensorOf<T> times_transposed(T factor, MatrixView<const T> a, MatrixView<const T> b) {
  TensorOf<T> product({a.rows(), b.rows()});
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < b.rows(); ++j) product.matrix()(i, j) = factor * dot<T>(a.row(i), b.row(j));
  }
  return product;
}

/// One head of queries, q, o and d_o [queries, d] with lse [queries], against keys, k and v [keys, d]. With
/// P = exp(S - lse) and dS = P * (dP - D), query i and key j add P_ij d_o_i to dv_j, scale dS_ij k_j to dq_i
/// and scale dS_ij q_i to dk_j.
template <class T>
struct DenseHead {
  MatrixView<const T> q, k, v, o, d_o;
  std::span<const T> lse;
  T scale = 1 / std::sqrt(static_cast<T>(q.cols()));
  TensorOf<T> scores = times_transposed(scale, q, k);     ///< S [queries, keys]
  TensorOf<T> products = times_transposed(T{1}, d_o, v);  ///< dP [queries, keys]

  T s(Index i, Index j) const { return scores.matrix()(i, j); }
  T dp(Index i, Index j) const { return products.matrix()(i, j); }
  T delta(Index i) const { return dot<T>(o.row(i), d_o.row(i)); }
};

}  // namespace course
