#pragma once

#include <functional>

#include "reference/mask.hpp"
#include "reference/score_bias.hpp"
#include "tensor/tensor.hpp"

/// What a rounded lse costs a right ring, as the root mean square of each entry (judge/numbers/rounding.hpp
/// has the variance of one rounding).
///
/// A ring merges parts, and goes back, with weights p = exp(s - lse): an error of lse is the same error of
/// every weight of that query relative to itself. Half a step of float32 at lse = 2258 is 1.2e-4. The float32
/// baseline divides by a sum of its own and has no such error, so that it does not show what a ring may be
/// off by.
///
/// A judge draws its inputs, and its lse are rounded independently. Nobody drew these: queries may be alike,
/// and then their lse are off by the same, which adds up instead of averaging out.
namespace course::demo {

/// Of o and lse, whose errors are those of so many merges.
struct AttentionRounding {
  Tensor64 o, lse;
};

/// @param o [heads, queries, value_dim] and lse [heads, queries], as they should be
AttentionRounding rounding_of_attention(const Tensor64& o, const Tensor64& lse, Index merges);

/// Of the gradients that are made with such an o and lse.
struct GradientRounding {
  Tensor64 dq, dk, dv;
};

/// @param q, d_o [heads, tokens, head_dim]; k, v [kv_heads, tokens, head_dim], with sinks a key of zeros
/// more,
///   as reference::with_sink() adds it
/// @param progress is told now and then how many of all queries are done
GradientRounding rounding_of_gradients(const Tensor64& q, const Tensor64& k, const Tensor64& v,
                                       const Tensor64& d_o, const reference::Mask& mask,
                                       const reference::HeadBias& bias, Index merges,
                                       const std::function<void(Index)>& progress);

}  // namespace course::demo
