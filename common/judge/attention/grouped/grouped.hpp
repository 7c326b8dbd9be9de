#pragma once

#include "judge/task.hpp"

/// Attention whose query heads share heads of keys and values: the inputs q [heads, n, key_dim],
/// k [kv_heads, n, key_dim] and v [kv_heads, n, value_dim], and the argument scale, by which q . k is
/// multiplied; 1/sqrt(key_dim) where there is none. Under the mask of keys_seen(). With the input slopes, a
/// number a query head or none, scores are less by the head's slope times the distance; with the input sinks,
/// a number a query head or none, that is the score of one key more, whose value is 0.
namespace course::grouped {

/// An example's keys have fewer heads than its queries, values a width of their own.
struct Sizes {
  Index heads, kv_heads, key_dim, value_dim;
};

/// Ordinary input with heads that differ: each head of v has a scale and a mean of its own, and query heads
/// that share a head of k differ. Scores have a standard deviation near 1.
Example make_example(InputGenerator& generator, std::string what, const Layout& layout, const Sizes& sizes);

/// The same with the gradient d_o [heads, n, value_dim], and with o and lse as a right forward pass gives
/// them.
Example with_gradient(InputGenerator& generator, Example example);

/// o [heads, n, value_dim] and lse [heads, n]. Examples and checks are still to be said.
Task forward_task(std::string id, std::string function);

/// dq, dk and dv, of the shapes of q, k and v; of examples with the inputs before_dq, before_dk and
/// before_dv, these and the gradients. Examples and checks are still to be said.
Task backward_task(std::string id, std::string function);

/// The same, and d_sinks [ranks, heads], which every rank returns for the queries of all of them; [ranks, 0]
/// of an example without sinks.
Task backward_task_with_sinks(std::string id, std::string function);

/// - sum_i exp(sinks[head] - lse_i) delta_i, and by `rounded` what float32 rounds off it, for lse and delta
/// [heads, queries].
struct SinkGradients {
  std::vector<double> values, rounded;
};
SinkGradients sink_gradients(const std::vector<double>& sinks, const Tensor64& lse, const Tensor64& delta,
                             const Tensor64& of_delta);

/// The bytes of keys and values of so many tokens.
std::int64_t bytes_of_tokens(const Example& example, int tokens);

}  // namespace course::grouped
