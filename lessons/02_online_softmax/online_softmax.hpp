#pragma once

#include <span>

#include "ring/softmax_state.hpp"
#include "tensor/view.hpp"

namespace lesson02 {

using course::SoftmaxState;

/// Task 1. The state of a and b's scores taken together. Either may have seen nothing, or only -inf: it then
/// has m = -inf and l = 0; else m is finite and l > 0.
/// Any (m, l) with the right m + log l is right. Source: Milakov and Gimelshein 2018, eq. 4.
SoftmaxState merge(SoftmaxState a, SoftmaxState b);

/// Task 2. One row of attention in one pass: o = sum_j softmax(scores)_j values_j.
/// scores [n], -inf or at most 2^127 in magnitude; values [n, d]; o [d], unset before the call. Looks at
/// `block` (>= 1) scores at a time, the last block holding what is left, and keeps nothing between blocks but
/// m, l and the unnormalised output O, which may be kept in o. Returns the row's logsumexp. A row with no
/// finite score gives o = 0 and -inf. Source: Dao et al. 2022, algorithm 1, for one query.
float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o);

/// Task 3. Merges what two parts of a row have finished separately: (o, lse) becomes the result of both parts
/// together. o, o_b [d] are normalised; a part that saw no finite score has o = 0 and lse = -inf.
///   o <- o - sigmoid(lse_b - lse) (o - o_b),   lse <- log(exp(lse) + exp(lse_b)).
/// lse becomes that, but do not compute it so: in float32 exp(lse) is infinite above 88.7, and 0 below -104.
void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b);

}  // namespace lesson02
