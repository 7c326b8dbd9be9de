#pragma once

#include "judge/attention/grouped/grouped.hpp"

/// Inputs of query heads that share heads of keys and values, for one rank or for a ring.
namespace course::grouped {

/// Groups of every kind, on these layouts in turn: one key head, one a query head, values wider or narrower
/// than keys; scores far apart in a group; a maximum that comes last. Where one key has all the weight,
/// gradients cancel to 0: `for_gradients` the largest score is less far above the others.
std::vector<Example> on_all_kinds_of_heads(InputGenerator& generator, const std::vector<Layout>& layouts,
                                           bool for_gradients);

/// Contiguous shards: equal ones, an empty one among them, unequal ones, short ones.
std::vector<Layout> all_kinds_of_shards(InputGenerator& generator, int ranks);

/// One rank that has all tokens.
Layout of_one_rank(int tokens);

/// The largest of the registry's worlds: there blocks are so large that memory is seen.
inline constexpr int ranks_of_large_blocks = 8;

/// Blocks of a quarter of a megabyte, keys by far the most of it, and a state that is small beside them; no
/// example in smaller worlds.
std::vector<Example> with_large_blocks(InputGenerator& generator, int ranks, Index heads);

/// All with what with_gradient() gives them.
std::vector<Example> with_gradients(InputGenerator& generator, std::vector<Example> forward);

/// All kinds of heads on all kinds of shards, and large blocks.
std::vector<Example> ring_examples(InputGenerator& generator, int ranks);
std::vector<Example> backward_ring_examples(InputGenerator& generator, int ranks);

/// What only a grade plays: heads of any number, of any width.
std::vector<Example> hidden_rings(InputGenerator& generator, int ranks);
std::vector<Example> hidden_backward_rings(InputGenerator& generator, int ranks);

}  // namespace course::grouped
