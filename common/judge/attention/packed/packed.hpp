#pragma once

#include "judge/attention/grouped/grouped.hpp"
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

/// A kind of row, with what is told of it.
struct RowKind {
  std::string documents;
  std::string shown;  ///< what of them a query sees, where that is not all up to itself
  RowMask mask;
  bool at_edges = false;   ///< it matters where contiguous shards end
  bool in_zigzag = false;  ///< one of those that are played with each document in zigzag as well

  std::string in_words() const { return shown.empty() ? documents : documents + ", " + shown; }
};

/// Rows for `ranks` shards of `shard` tokens each: documents that end with a shard, or one token later, or
/// are longer than two; of one token, or of none; windows of one token, of a shard, one more, or the whole
/// row; padding of a few tokens, or of a whole shard and more.
std::vector<RowKind> all_kinds(InputGenerator& generator, int ranks, int shard);

/// A mask on a layout.
struct Row {
  std::string what;
  RowMask mask;
  Layout layout;
  bool for_rings;  ///< of rings, which take long, each mask is played on one layout, or on zigzag besides
};

/// Each kind of mask on contiguous shards and on another layout, some with each document in zigzag, too; and
/// unequal shards.
std::vector<Row> rows_on_layouts(InputGenerator& generator, int ranks);

/// An example of grouped heads, put under this mask, with scores scaled by 1/sqrt(key_dim); slopes and sinks
/// may be empty.
Example under_mask(Example example, const RowMask& mask, std::vector<float> slopes, std::vector<float> sinks);
Example make_example(InputGenerator& generator, std::string what, const Layout& layout,
                     const grouped::Sizes& sizes, const RowMask& mask, std::vector<float> slopes,
                     std::vector<float> sinks);

/// By block, how many hops to rank + 1 take it to the last rank that sees a key of it.
std::vector<int> hops_needed(const Example& example);

/// Keys and values of every block make those hops, and no more, each message as long as the longest shard.
std::vector<Finding> sends_blocks_where_needed(const Example& example, const Outcome& outcome);

/// The same with gradients that travel along and then go home, or that every rank sends to the owner: no rank
/// sends another more, and all together no more than keys, values and gradients on their hops and a message
/// home. d_sinks are brought by a collective, and by no message.
std::vector<Finding> sends_gradients_where_needed(const Example& example, const Outcome& outcome);

}  // namespace course::packed
