#pragma once

#include <span>

#include "tensor/tensor.hpp"

/// The part of the reference (reference.hpp) that needs no matrix product: the first lessons' judges are
/// compiled without Eigen.
namespace course::reference {

template <class T>
struct Softmax {
  TensorOf<T> p;    ///< [rows, cols]; a row whose maximum is -inf is all zeros
  TensorOf<T> lse;  ///< [rows]; -inf for such a row
};

/// Row softmax and logsumexp of x [rows, cols]: p_ij = exp(x_ij - m_i) / l_i, lse_i = m_i + log l_i.
/// Entries may be -inf (masked). A row with no columns counts as masked.
template <class T>
Softmax<T> softmax(const TensorOf<T>& x);

/// Replaces a row of scores by its softmax; returns its logsumexp.
template <class T>
T softmax_in_place(std::span<T> row);

}  // namespace course::reference
