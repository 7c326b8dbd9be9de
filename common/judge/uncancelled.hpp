#pragma once

#include "judge/diagnose.hpp"
#include "judge/gradient_checks.hpp"

namespace course {

/// What dq, dk and dv would be if none of their terms cancelled: the sums of the absolute values of the
/// products that they are made of, P_ij (|dP_ij| + |D_i|) |k_jc| for dq, where |dP_ij| and |D_i| are sums of
/// absolute values in turn. What float32 rounds is in proportion to these.
Gradients64 uncancelled_gradients(const AttentionProblem& problem);

/// The same as a task's terms.
std::function<Answer(const Example&)> gradients_terms(
    std::function<AttentionProblem(const Example&)> problem);

/// On some rank dq, dk or dv is further from the truth than float32 explains, measured against the norm of
/// that rank's terms before they cancel. The comparison with the truth's own norm, over all ranks, does not
/// see a rank whose gradients are a small part of their head's. Silent where that comparison fails already.
/// For tasks that have terms.
std::vector<Finding> is_right_on_every_rank(const Played& played);

}  // namespace course
