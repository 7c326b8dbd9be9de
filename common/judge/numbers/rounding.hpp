#pragma once

#include <vector>

#include "judge/task.hpp"
#include "reference/mask.hpp"

/// What float32 rounds off a right answer, worked out in float64 from the example: variances, from which
/// tolerance() takes a bound. A float32 baseline shows one draw of these errors, and may be right by luck.
///
/// Roundings count as independent, each of them of mean 0: their variances add up, which is far less than
/// the bound that no answer at all can exceed. Source: Higham and Mary 2019, A New Approach to Probabilistic
/// Rounding Error Analysis.
namespace course::rounding {

/// The variance of one rounding, as a part of the number's square: anywhere between two steps of float32 is
/// equally likely, so that it is a twelfth of the step's square. A step is 2^-23 of the power of two below
/// the number, whose square is on average 0.541 of the number's.
inline constexpr double of_one = 0.541 * 0x1p-46 / 12;

/// The variance of what is rounded off a number.
inline double of(double number) {
  return of_one * number * number;
}

/// A sum of so many products, their squares adding up to `squares`: each product is rounded, and each partial
/// sum. Over all orders of the terms, the square of a partial sum is on average a sixth of `squares` and a
/// third of the sum's square.
inline double of_sum(Index terms, double squares, double sum) {
  const double n = static_cast<double>(terms);
  return of_one * ((n / 6 + 1) * squares + (n / 3 + 1) * sum * sum);
}

/// One row's weights p_j = exp(s_j - lse), and what is rounded off them as a part of themselves.
struct Weights {
  std::vector<double> p;
  std::vector<double> own;  ///< of each by itself: its score, the exponent, exp
  double common = 0;        ///< of all at once: their sum, and an lse
  double lse = 0;
  double of_lse = 0;  ///< what is rounded off lse, absolute
};

/// @param scores -inf where masked
/// @param of_scores what is rounded off each of them already; empty where they are inputs
/// @param merges how often a right answer may make the weights of what it has merged so far from an lse,
///   whose rounding is then theirs: 2^-24 of |lse|. 0 where the contract wants them made from the maximum. A
///   score that has all the weight is merged with nothing.
Weights weights(std::span<const double> scores, const std::vector<double>& of_scores, Index merges);

/// The root mean squares of what is rounded off sum_j p_j v_j for v [n, d], into o [d].
void write_mean(const Weights& weights, MatrixView<const double> v, std::span<double> o);

// By output, the root mean square of what is rounded off each entry.

/// p [rows, cols] and lse [rows] of the softmax of each row of scores.
Answer softmax(const Tensor64& scores, Index merges);

/// ds [rows, cols], the gradient of a softmax's scores, from p, dp [rows, cols] and d_lse [rows].
Answer softmax_gradient(const Tensor64& p, const Tensor64& dp, const Tensor64& d_lse);

/// o and lse of attention for q [heads, queries, d], k and v [heads, keys, d]. bias [heads, queries, keys],
/// where one is given, is added to the scores, as the reference has it.
Answer attention(const Tensor64& q, const Tensor64& k, const Tensor64& v, Index merges,
                 const reference::Mask& mask = {}, const Tensor64& bias = {});

/// dq, dk and dv for gradients d_o and d_lse of o and lse, from weights that are made of a rounded lse.
Answer attention_gradients(const Tensor64& q, const Tensor64& k, const Tensor64& v, const Tensor64& d_o,
                           const reference::Mask& mask, const Tensor64& d_lse, const Tensor64& bias = {});

}  // namespace course::rounding
