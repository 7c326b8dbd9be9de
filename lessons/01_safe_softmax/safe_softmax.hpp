#pragma once

#include <span>

#include "tensor/view.hpp"

namespace lesson01 {

/// Task 1. Softmax of every row of x [rows, cols] into p [rows, cols]:
///   p_ij = exp(x_ij - m_i) / sum_j exp(x_ij - m_i),   m_i = max_j x_ij.
/// Scores are -inf (masked), or finite and at most 2^127 in magnitude. A row that is -inf throughout, or has
/// no columns, gives zeros. p is as accurate for large scores as for small ones; exp(x_ij - lse_i) with lse
/// rounded to float32 is not. Source: Milakov and Gimelshein 2018, algorithm 2.
void softmax(course::MatrixView<const float> x, course::MatrixView<float> p);

/// Task 2. lse_i = log sum_j exp(x_ij) for every row of x [rows, cols]; lse has `rows` entries.
/// A row that is -inf throughout, or has no columns, gives -inf.
void logsumexp(course::MatrixView<const float> x, std::span<float> lse);

}  // namespace lesson01
