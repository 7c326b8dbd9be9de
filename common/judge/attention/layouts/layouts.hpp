#pragma once

#include <string>
#include <utility>
#include <vector>

#include "judge/task.hpp"

/// Which rank owns which positions, for the judges: who owns what, how tensors and sequences are cut and
/// joined, and what a causal mask leaves of a pair of shards. Right, and wrong in the ways that are known.
/// The tasks are played on one rank, whose outputs tell of all ranks.
namespace course::layouts {

/// So many tokens among so many ranks: contiguous, striped, zigzag, boustrophedon (0 1 .. P-1, P-1 .. 0, and
/// again), and with ranks that are drawn for each token by itself. Each with its name.
std::vector<std::pair<std::string, Layout>> all_kinds(InputGenerator& generator, int tokens, int ranks);

/// The arguments shard_tokens and positions: the positions of all ranks, in the order of ranks.
Arguments arguments_of(const Layout& layout);

/// A function of the arguments tokens and ranks that gives the positions of each rank, striped and zigzag
/// [ranks, tokens + 2], -1 behind the last. Mistakes: chunk_pairing_off, chunk_from_the_middle,
/// neighbouring_chunks, later_chunk_first, pairs_of_other_ranks, boustrophedon, stripes_contiguous,
/// remainder_dropped, chunks_cut_otherwise.
Task positions_task(std::string id, std::string function);

/// A function of x and gathered [heads, tokens, head_dim] and arguments_of a layout that gives shards, the
/// rows of x in the order of ranks, and whole, the rows of gathered in the order of positions. Mistakes:
/// permutation_not_inverse, not_reordered, rows_from_first_position.
Task reorder_task(std::string id, std::string function);

/// A function of the argument sequence and arguments_of a layout that gives each rank's tokens, labels and
/// position_ids [ranks, longest shard], -1 behind the last. Mistakes: labels_shifted_after_sharding,
/// labels_not_shifted, shard_end_ignored, last_label_not_ignored, rotary_left_contiguous.
Task batch_task(std::string id, std::string function);

/// A function of arguments_of a layout that gives first and last [ranks, ranks, longest shard], the keys of
/// the second rank's shard that each query of the first one's sees under a causal mask, [0, 0) where it sees
/// none and beyond its last query; and work [ranks, steps], the scores that a rank computes at a step.
/// Mistakes: whole_blocks_counted, owner_off and those of ring_mask::wrong_steps().
Task causal_task(std::string id, std::string function);

/// q, k and v under a causal mask on this layout, for ring_forward::masked_task; with arguments_of the
/// layout.
Example causal_ring_example(std::string what, const Layout& layout, QKV qkv);

/// Such examples on all kinds of layouts, with equal and unequal shards; late maxima, scores far apart or far
/// below 0, real input, and large blocks.
std::vector<Example> ring_examples(InputGenerator& generator, int ranks);

/// Such examples with o, lse and a d_o, for ring_backward::masked_task, of which float32 keeps the gradients.
std::vector<Example> backward_ring_examples(InputGenerator& generator, int ranks);

/// What only a grade plays; not in a handout.
std::vector<Example> hidden_worlds(InputGenerator& generator, int ranks);
std::vector<Example> hidden_tensors(InputGenerator& generator, int ranks);
std::vector<Example> hidden_sequences(InputGenerator& generator, int ranks);
std::vector<Example> hidden_pairs(InputGenerator& generator, int ranks);
std::vector<Example> hidden_rings(InputGenerator& generator, int ranks);
std::vector<Example> hidden_backward_rings(InputGenerator& generator, int ranks);

/// One input of each task.
Example world_example(std::string what, int tokens, int ranks);
Example tensor_example(InputGenerator& generator, std::string what, const Layout& layout, Index heads,
                       Index head_dim);
Example sequence_example(InputGenerator& generator, std::string what, const Layout& layout);
Example pairs_example(std::string what, const Layout& layout);

}  // namespace course::layouts
