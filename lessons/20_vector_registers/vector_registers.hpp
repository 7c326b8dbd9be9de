#pragma once

#include <span>

#include "tensor/lanes.hpp"  // yours to use: course::Lanes, load, store, splat, maximum, hidden
#include "tensor/view.hpp"

namespace lesson20 {

using course::Index;
using course::MatrixView;

/// Task 1. y_i = 2^x_i for x_i <= 0: a relative error of 3e-7 at most where x_i >= -125; below, and for -inf,
/// any number from 0 to 2.4e-38 that is not subnormal; NaN stays NaN. Both have as many numbers, a multiple
/// of course::lanes; else throws std::invalid_argument with both numbers. No call and no branch a number.
void powers_of_two(std::span<const float> x, std::span<float> y);

/// Task 2. A register tile: s = k qt, and `start` added to every row. k [keys, d], qt [d, queries], start
/// [queries], s [keys, queries]; queries = course::lanes times 1, 2, 3 or 4, else throws
/// std::invalid_argument with the number; keys, d >= 0. Sums stay in registers: nothing of s is read.
void score_tile(MatrixView<const float> k, MatrixView<const float> qt, std::span<const float> start,
                MatrixView<float> s);

/// Task 3. What lesson 04's attend_block does, to the letter: s_ij = q_i . k_j / sqrt(d),
///   m_i' = max(m_i, max_j s_ij),  l_i' = l_i exp(m_i - m_i') + sum_j exp(s_ij - m_i'),
///   O_i' = O_i exp(m_i - m_i') + sum_j exp(s_ij - m_i') v_j.
/// q [queries, d]; k, v [keys, d]; m, l [queries]; o [queries, d], unnormalised; queries, keys >= 0; d is a
/// multiple of 4 from 4 to 256, else throws std::invalid_argument with d. A query that has seen nothing has
/// m = -inf, l = 0, O = 0. Another m_i', with l_i' and O_i' to match, is as right. Scores are finite. Extra
/// memory: (3 d + 128) numbers for each of 4 course::lanes queries at most.
void attend_block(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                  std::span<float> m, std::span<float> l, MatrixView<float> o);

/// Task 4. What lesson 06's block_backward does, to the letter: over the keys j that query i sees,
///   p_ij = exp(s_ij - lse_i),  ds_ij = p_ij (d_o_i . v_j - delta_i),
///   dv_j += sum_i p_ij d_o_i,  dq_i += sum_j ds_ij k_j / sqrt(d),  dk_j += sum_i ds_ij q_i / sqrt(d).
/// q, d_o, dq [queries, d]; k, v, dk, dv [keys, d]; lse, delta, visible [queries]: query i sees the block's
/// first visible[i] keys. A query that sees no key of any block has lse = -inf; it adds nothing. d as in task
/// 3. Extra memory: (5 d + 256) numbers for each of 4 course::lanes queries at most.
void block_backward(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                    MatrixView<const float> d_o, std::span<const float> lse, std::span<const float> delta,
                    std::span<const Index> visible, MatrixView<float> dq, MatrixView<float> dk,
                    MatrixView<float> dv);

}  // namespace lesson20
