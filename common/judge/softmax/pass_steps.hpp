#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "player/softmax_steps.hpp"
#include "tensor/tensor.hpp"

/// The steps of a softmax in one pass, right and wrong, in float32 as a student would make them. A mistake
/// has many faces: which sums it touches and which masked cases it guards. Steps say which; the families'
/// tables list those that keep one mistake's name.
namespace course::pass_steps {

/// What a sum of exp(score - m_old) is multiplied by, to make it one of exp(score - m_new).
enum class Factor { Right, LeftOut, Inverted, ByBlockMaximum, Zero, Squared };

inline float factor(Factor kind, float m_old, float m_new, float m_block) {
  if (kind == Factor::LeftOut) return 1.0f;
  if (kind == Factor::Zero) return 0.0f;
  if (kind == Factor::Inverted) return std::exp(m_new - m_old);
  if (kind == Factor::Squared) return std::exp(m_old - m_new) * std::exp(m_old - m_new);
  return std::exp(m_old - (kind == Factor::ByBlockMaximum ? m_block : m_new));
}

/// The factors of two sums where that of both is wrong, of the first, or of the second.
inline std::array<std::pair<Factor, Factor>, 3> in_either_sum(Factor wrong) {
  return {{{wrong, wrong}, {wrong, Factor::Right}, {Factor::Right, wrong}}};
}

/// Which scores set o in place of adding to it.
enum class SetsO { None, FirstBlocks, All };
/// Where exp(-inf - (-inf)) is avoided.
enum class Masked { SkippedAtFirst, SkippedAlways, Evaluated };
/// Which rows are given zeros in place of o / l.
enum class Zeros { WithoutMaximum, WithoutSum, Never };

/// The steps of one pass over a row's scores, or over states to be merged, as switches.
struct PassSteps {
  Factor l = Factor::Right;
  Factor o = Factor::Right;
  Factor block = Factor::Right;                 ///< of what a block adds to l and o
  float start = softmax_steps::minus_infinity;  ///< of the running maximum
  bool first_factor_is_zero = false;            ///< where nothing finite has been seen
  bool forgets_running_maximum = false;         ///< m becomes the block's own maximum
  bool block_from_old_maximum = false;          ///< what a block adds counts from the maximum before it
  bool skips_lower_blocks = false;              ///< those whose maximum is not above the running one
  bool rescales_o_every_score = false;          ///< once for each of a block's scores that is not masked
  bool rescales_o_when_masked = false;          ///< and for each that is
  bool drops_last_block = false;                ///< where it is shorter than the others
  bool moves_last_block_back = false;  ///< so that it is as long as the others, if there are as many scores
  bool values_from_first_row = false;  ///< every block reads them there
  bool divides_every_block = false;    ///< o by l
  bool loses_first = false;            ///< where the second of two states has seen nothing
  bool loses_second = false;           ///< where the first of two states has seen nothing
  bool divides = true;                 ///< o by l, at the end
  SetsO sets_o = SetsO::None;
  Masked masked = Masked::SkippedAtFirst;
  Zeros zeros = Zeros::WithoutMaximum;
  bool zeros_with_m = false;  ///< the lse of a row that is given zeros is m; else -inf
  float (*lse)(SoftmaxState) = softmax_steps::logsumexp;
};

/// Adds a block to the state and to o [d]: scores m, each with the sum l that it stands for, and their values
/// [n, d].
inline void see_block(const PassSteps& steps, std::span<const float> m, std::span<const float> l,
                      MatrixView<const float> values, SoftmaxState& state, std::span<float> o) {
  using softmax_steps::minus_infinity;
  const float m_block = softmax_steps::maximum(m);
  const float m_new = steps.forgets_running_maximum ? m_block : std::max(state.m, m_block);
  if (steps.masked == Masked::SkippedAtFirst && m_new == minus_infinity) return;
  if (steps.masked == Masked::SkippedAlways && m_block == minus_infinity) return;
  if (steps.skips_lower_blocks && m_block <= state.m) return;
  const auto correction = [&, m_old = state.m](Factor kind) {
    const bool is_zero = steps.first_factor_is_zero && m_old == minus_infinity;
    return is_zero ? 0.0f : factor(kind, m_old, m_new, m_block);
  };
  const float m_added = steps.block_from_old_maximum ? state.m : m_new;
  const bool sets_o = steps.sets_o == SetsO::All || (steps.sets_o == SetsO::FirstBlocks && state.l == 0.0f);
  state = {m_new, state.l * correction(steps.l)};
  const float correction_of_o = correction(steps.o);
  if (!steps.rescales_o_every_score) {
    for (float& component : o) component *= correction_of_o;
  }
  for (Index j = 0; j < values.rows(); ++j) {
    const float weight = l[j] * factor(steps.block, m[j], m_added, m_block);
    state.l += weight;
    const bool rescales =
        steps.rescales_o_every_score && (m[j] != minus_infinity || steps.rescales_o_when_masked);
    for (Index c = 0; c < values.cols(); ++c)
      o[c] = (sets_o ? 0.0f : rescales ? correction_of_o : 1.0f) * o[c] + weight * values(j, c);
  }
  for (float& component : o) component /= steps.divides_every_block ? state.l : 1.0f;
}

}  // namespace course::pass_steps
