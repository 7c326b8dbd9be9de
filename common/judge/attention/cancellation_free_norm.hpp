#pragma once

#include "judge/attention/gradient_checks.hpp"
#include "judge/diagnose.hpp"

namespace course {

/// What dq, dk and dv would be if none of their terms cancelled: the sums of the absolute values of the
/// products that they are made of, P_ij (|dP_ij| + |D_i|) |k_jc| for dq, where |dP_ij| and |D_i| are sums of
/// absolute values in turn. What float32 rounds is in proportion to these.
Gradients64 cancellation_free_gradients(const AttentionProblem& problem);

/// The same as a task's cancellation-free answer.
std::function<Answer(const Example&)> cancellation_free_gradients_of(
    std::function<AttentionProblem(const Example&)> problem);

/// On some rank dq, dk or dv is further from the expected answer than float32 explains, measured against the
/// norm of that rank's terms before they cancel. The comparison with the expected answer's own norm, over all
/// ranks, does not see a rank whose gradients are a small part of their head's. Silent where that comparison
/// fails already. For tasks that have cancellation-free answers.
std::vector<Finding> is_right_on_every_rank(const Played& played);

}  // namespace course
