#pragma once

#include <span>

#include "tensor/exponential.hpp"     // yours to use: course::exponentiate(row, shift)
#include "tensor/linear_algebra.hpp"  // and course::gemm, maximum, dot, axpy, scal
#include "tensor/view.hpp"

namespace lesson06 {

/// Task 1. Back through a row softmax and its logsumexp. With p the softmax of scores s, `dp` the gradient
/// that arrives at p, and `d_lse` the one that arrives at each row's logsumexp, the gradient that arrives at
/// s is
///   ds_ij = p_ij (dp_ij - sum_k p_ik dp_ik + d_lse_i),
/// the sum over the whole row. p, dp, ds [rows, cols], cols >= 0; d_lse [rows]. A masked weight is p_ij = 0,
/// a masked row is all zeros, and so is its ds. What ds holds beforehand is undefined. Source: d p_j / d s_k
/// = p_j (delta_jk - p_k), d lse / d s_j = p_j.
void softmax_backward(course::MatrixView<const float> p, course::MatrixView<const float> dp,
                      std::span<const float> d_lse, course::MatrixView<float> ds);

/// Task 2. What one block of keys and one block of queries of one head add to the gradients. With
/// s_ij = q_i . k_j / sqrt(d), over the keys j that query i sees,
///   p_ij = exp(s_ij - lse_i),  ds_ij = p_ij (d_o_i . v_j - delta_i),
///   dv_j += sum_i p_ij d_o_i,  dq_i += sum_j ds_ij k_j / sqrt(d),  dk_j += sum_i ds_ij q_i / sqrt(d).
/// q, d_o, dq [queries, d]; k, v, dk, dv [keys, d]; queries, keys >= 0. lse and delta [queries] are those of
/// the whole rows, over all blocks: lse of the scaled scores, delta_i = o_i . d_o_i - d_lse_i.
/// visible [queries]: query i sees the block's first visible[i] keys, 0 <= visible[i] <= keys. A query that
/// sees no key of any block has lse = -inf; it adds nothing. Scores are finite.
/// Source: Dao et al. 2022, appendix B; Dao 2023 (FlashAttention-2), algorithm 2, the inner loop.
void block_backward(course::MatrixView<const float> q, course::MatrixView<const float> k,
                    course::MatrixView<const float> v, course::MatrixView<const float> d_o,
                    std::span<const float> lse, std::span<const float> delta,
                    std::span<const course::Index> visible, course::MatrixView<float> dq,
                    course::MatrixView<float> dk, course::MatrixView<float> dv);

/// Task 3. The gradients of attention with respect to q, k and v, head by head, `block` (>= 1) keys at a
/// time; the last block has the keys that are left. q, o, d_o, dq [heads, queries, d]; k, v, dk, dv [heads,
/// keys, d]; lse, d_lse [heads, queries]. o (normalised) and lse are what the forward pass returned, d_o and
/// d_lse the gradients that arrive at them (d_lse is all zeros where only o is used). visible [queries], the
/// same for every head: query i sees the first visible[i] of all the keys, 0 <= visible[i] <= keys; with 0,
/// o = 0, lse = -inf, dq = 0. queries and keys may differ, and either may be 0; d >= 1. What dq, dk and dv
/// hold beforehand is undefined. Never holds more than a block's weights: extra memory is O((queries + block)
/// (d + block)), not O(queries keys).
void attention_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                        course::HeadsView<const float> v, course::HeadsView<const float> o,
                        course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
                        course::MatrixView<const float> d_lse, std::span<const course::Index> visible,
                        course::Index block, course::HeadsView<float> dq, course::HeadsView<float> dk,
                        course::HeadsView<float> dv);

}  // namespace lesson06
