#pragma once

#include <span>

#include "tensor/view.hpp"

namespace lesson01 {

/// Task 1. Softmax of every row of x [rows, cols] into p [rows, cols]:
///   p_ij = exp(x_ij - m_i) / sum_j exp(x_ij - m_i),   m_i = max_j x_ij.
/// Scores are finite or -inf (masked). A row that is -inf throughout, or has no columns, gives zeros.
/// Weights keep float32's digits however large the scores are, as x_ij - m_i does; near 2e4 a rounded lse
/// would cost 1e-3 of them.
/// Source: Milakov and Gimelshein 2018, algorithm 2.
void softmax(course::MatrixView<const float> x, course::MatrixView<float> p);

/// Task 2. lse_i = log sum_j exp(x_ij) for every row of x [rows, cols]; lse has `rows` entries.
/// A row that is -inf throughout, or has no columns, gives -inf.
void logsumexp(course::MatrixView<const float> x, std::span<float> lse);

}  // namespace lesson01
