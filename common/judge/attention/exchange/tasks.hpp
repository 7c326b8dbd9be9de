#pragma once

#include "judge/task.hpp"

/// Tasks of a lesson whose ranks, all in one row, exchange tokens for heads.
namespace course::exchange {

/// A function of the arguments heads, kv_heads, shard_tokens and head_dim, played on one rank, that gives of
/// each rank its shares first, last, kv_first and kv_last, [0, 0) where it has none, and traffic [ranks,
/// ranks + 1], which `traffic` gives: the bytes of a forward pass, -1 behind the last. It refuses key heads
/// that do not divide the query heads, naming both.
Task shares_task(std::string id, std::string function, std::string traffic);

/// A function of x [heads, tokens, width] and the argument heads_of that gives y, of all tokens the heads
/// that each rank has, and refuses an output of other heads.
Task there_task(std::string id, std::string function);

/// A function of such a y that gives x, of the argument heads so many: the sum of what ranks have of a head.
Task back_task(std::string id, std::string function);

/// Attention in exchanges, which keeps its heads for the backward pass: the outputs kept_q, kept_k, kept_v,
/// kept_o and kept_lse, `kept` in reports. Mistakes: keys_copied_to_all_heads, everything_gathered and
/// rank_without_heads_leaves.
Task forward_task(std::string id, std::string function, const std::string& kept);

/// The same backward, from what was kept. Mistakes: everything_gathered and rank_without_heads_leaves.
Task backward_task(std::string id, std::string function);

}  // namespace course::exchange
