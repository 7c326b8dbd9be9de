#pragma once

#include "judge/attention/grouped.hpp"
#include "judge/task.hpp"

/// Rows in which documents are packed one behind another, for the judges: what a query sees, which rank owns
/// what, and how far a block has to travel.
namespace course::packed {

/// An example's arguments starts, window and causal, of which keys_seen() knows.
struct RowMask {
  std::vector<Index> starts;  ///< cu_seqlens; what lies behind the last one is padding
  Index window = 0;           ///< 0: no limit
  bool causal = true;
};

Arguments arguments_of(const RowMask& mask);

/// Rows for `ranks` shards of `shard` tokens each, with what is told of them: documents that end with a
/// shard, or one token later, or are longer than two; of one token, or of none; windows of one token, of a
/// shard, one more, or the whole row; padding of a few tokens, or of a whole shard and more.
std::vector<std::pair<std::string, RowMask>> all_kinds(InputGenerator& generator, int ranks, int shard);

/// By block, how many hops to rank + 1 take it to the last rank that sees a key of it.
std::vector<int> hops_needed(const Example& example);

/// The bytes that `from` sends to `to` where keys and values of every block make those hops, each message as
/// long as the longest shard.
std::int64_t needed_forward(const Example& example, int from, int to);

/// The same with gradients that travel along and then go home, or that every rank sends to the owner, and
/// with d_sinks.
std::int64_t needed_backward(const Example& example, int from, int to);

/// The ranks together sent more than keys, values and gradients on their hops, and a message home.
std::vector<Finding> sends_gradients_home_once(const Example& example, const Outcome& outcome);

/// An example of grouped heads under this mask on this layout; slopes and sinks may be empty.
Example make_example(InputGenerator& generator, std::string what, const Layout& layout,
                     const grouped::Sizes& sizes, const RowMask& mask, std::vector<float> slopes,
                     std::vector<float> sinks);

}  // namespace course::packed
