#pragma once

#include "judge/task.hpp"

/// How long a shard has to be for its ring's transfers to hide behind the work, for the judges: right, and
/// with a known mistake.
namespace course::tokens_to_hide {

/// A function of setups [machines, 7], each a machine's operations a second, bytes a second, bytes of a
/// number and of a gradient, heads of queries and of keys, and whether the mask is causal, that gives the
/// tokens a rank at which operations and bytes take equally long, forward and backward [machines, 1].
/// Mistakes: two_bytes_assumed, gradients_left_out, keys_and_values_left_out, heads_ignored, causal_ignored,
/// twice_the_work, half_the_work, seven_products, heads_upside_down, causal_halves.
Task task(std::string id, std::string function);

}  // namespace course::tokens_to_hide
