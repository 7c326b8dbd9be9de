#pragma once

#include <string>

#include "judge/attention/exchange/shares.hpp"
#include "judge/attention/grouped/grouped.hpp"

/// What exchanges of tokens for heads are played on.
namespace course::exchange {

/// Unequal shards, of three ranks or more one of them empty, with positions in any order.
Layout any_layout(InputGenerator& generator, int ranks);

/// Heads and who owns which tokens: what tells the mistakes of exchanges apart.
struct Row {
  std::string what;
  Index heads, kv_heads;
  Layout layout;
  bool several_have_keys = false;  ///< several ranks have a key head
};

/// For ranks that are all in one row.
std::vector<Row> rows(InputGenerator& generator, int ranks);

/// Where ranks have no tokens or no heads, what is wrong is mostly that nothing is there.
bool is_less_telling(const Row& row);

/// Grouped heads on this layout with the arguments heads_of, kv_heads_of, kv_heads and, for a mask by
/// position or none, causal.
Example attention_example(InputGenerator& generator, std::string what, const Layout& layout,
                          const grouped::Sizes& sizes, bool causal, Topology topology = Topology::ring());

/// Each with a gradient d_o, and in place of q, k and v what a right forward pass keeps of them, of o and of
/// lse, by heads: kept_q, kept_k, kept_v, kept_o and kept_lse. All ranks are in one row.
std::vector<Example> with_gradients(InputGenerator& generator, std::vector<Example> forward);

/// Such an example with q, k, v, o and lse as they were: of a key head on several ranks the first copy.
Example with_whole_heads(const Example& example);

/// Attention on all rows; in the largest world also heads so large that memory is seen.
std::vector<Example> forward_examples(InputGenerator& generator, int ranks);
std::vector<Example> backward_examples(InputGenerator& generator, int ranks);

/// What only a grade plays: any heads on any layout.
std::vector<Example> hidden_forward(InputGenerator& generator, int ranks);
std::vector<Example> hidden_backward(InputGenerator& generator, int ranks);

}  // namespace course::exchange
