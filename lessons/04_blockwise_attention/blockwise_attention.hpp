#pragma once

#include <span>

#include "tensor/exponential.hpp"     // yours to use: course::exponentiate(row, shift)
#include "tensor/linear_algebra.hpp"  // and course::gemm, maximum, dot, axpy, scal
#include "tensor/view.hpp"

namespace lesson04 {

/// Task 1. Lets every query of one head see one block of keys and values, and updates what the queries
/// remember: with s_ij = q_i . k_j / sqrt(d),
///   m_i' = max(m_i, max_j s_ij),  l_i' = l_i exp(m_i - m_i') + sum_j exp(s_ij - m_i'),
///   O_i' = O_i exp(m_i - m_i') + sum_j exp(s_ij - m_i') v_j.
/// q [queries, d]; k, v [keys, d], keys >= 0; m, l [queries]; o [queries, d] holds the unnormalised O. A
/// query that has seen nothing has m = -inf, l = 0, O = 0. A block without keys changes nothing. Another
/// m_i', with l_i' and O_i' to match, is as right. Scores are finite, and d >= 1. Source: Dao 2023
/// (FlashAttention-2), algorithm 1, the inner loop.
void attend_block(course::MatrixView<const float> q, course::MatrixView<const float> k,
                  course::MatrixView<const float> v, std::span<float> m, std::span<float> l,
                  course::MatrixView<float> o);

/// Task 2. o = softmax(q k^T / sqrt(d)) v and its lse, head by head, `block` (>= 1) keys at a time; the last
/// block has the keys that are left. q [heads, queries, d]; k, v [heads, keys, d]; o [heads, queries, d]; lse
/// [heads, queries], of the scaled scores. queries and keys may differ, and either may be 0. With no keys at
/// all, o = 0 and lse = -inf. What o and lse hold beforehand is undefined. Never holds more than a block's
/// scores: extra memory is O((queries + block) (d + block)), not O(queries keys).
void blockwise_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                         course::HeadsView<const float> v, course::Index block, course::HeadsView<float> o,
                         course::MatrixView<float> lse);

}  // namespace lesson04
