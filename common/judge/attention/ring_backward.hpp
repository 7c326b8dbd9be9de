#pragma once

#include <set>
#include <string>
#include <vector>

#include "judge/attention/gradient_checks.hpp"
#include "judge/task.hpp"

/// Attention's backward pass round a ring, for the judges: right, and wrong in the ways that are known.
namespace course::ring_backward {

/// q, k, v and the d_o that arrives, cut into shards along axis 1, with o and lse as a forward pass in
/// float64 gives them, rounded; arguments shard_tokens.
Example make_example(std::string what, const Layout& layout, QKV qkv, Tensor d_o);

/// A forward example's q, k and v with a random d_o.
Example with_gradient(InputGenerator& generator, Example forward);

/// Real q, k, v and d_o of these heads, from a token drawn on; every `every`-th query times q_factor.
Example real_example(InputGenerator& generator, std::string what, const Layout& layout,
                     const std::vector<Index>& heads, Index every = 1, float q_factor = 1);

/// The same as a problem for the gradient checks; lse has no gradient of its own.
AttentionProblem problem(const Example& example);

/// dq, dk and dv in float64, by the reference.
Answer expected(const Example& example);

/// The same as they would be if none of their terms cancelled.
Answer cancellation_free(const Example& example);

/// The expected answer in float32, hop by hop. It starts from the lse that the student is given: rounding an
/// lse of 100 costs 4e-6 of all weights of its row, which the reference, with a softmax of its own, does not
/// have.
Answer baseline(const Example& example);

/// The mistakes of a backward ring that change its answer, of these ids.
std::vector<Mistake> mistakes(const std::set<std::string>& ids);

}  // namespace course::ring_backward
