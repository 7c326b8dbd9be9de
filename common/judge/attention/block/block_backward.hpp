#pragma once

#include <span>

#include "judge/task.hpp"
#include "reference/mask.hpp"

/// Attention's backward pass over blocks on one rank, for the judges: right, and wrong in the ways that are
/// known.
namespace course::block_backward {

/// What arrives at lse.
enum class LseGradient { Zero, Drawn };

/// p, the softmax of `scores` [rows, cols], a random dp [rows, cols] and d_lse [rows].
Example rows_example(InputGenerator& generator, std::string what, const Tensor& scores,
                     LseGradient lse_gradient);

/// How many keys and queries a block has, and which keys a query sees.
struct Blocks {
  Index block;
  Index query_block;       ///< of a function that is called block by block
  Index offset = 1 << 20;  ///< query i sees keys 0 .. step * i + offset, here all
  Index width = 0;         ///< of these the last so many; 0: all
  Index step = 1;          ///< -1: each query sees a key less than the one before
  Index first_blind = 0;   ///< queries that see no key: from this one
  Index end_of_blind = 0;  ///< up to the one before this
  Blocks with_offset(Index other, Index other_step = 1) const {
    return {block, query_block, other, width, other_step, first_blind, end_of_blind};
  }
};

/// q [heads, queries, head_dim], k and v [heads, keys, head_dim], with a random d_o and d_lse [heads,
/// queries], and with o, lse and delta = rowsum(o * d_o) - d_lse as a forward pass in float64 gives them,
/// rounded; the arguments are those of `blocks`.
Example drawn_example(InputGenerator& generator, std::string what, QKV qkv, LseGradient lse_gradient,
                      Blocks blocks);

/// The same of 50 tokens and two heads of the real q, times `q_factor`, k, v and d_o.
Example real_example(InputGenerator& generator, std::string what, float q_factor, LseGradient lse_gradient,
                     Blocks blocks);

/// A mask that shows what an example's queries see.
reference::Mask mask_of(const Example& example);

/// Ordinary, masked and far apart rows.
std::vector<Example> rows_examples(InputGenerator& generator, int ranks);

/// large_values_qkv() of the input generator. Exposes weights that are taken for 0 where they are small, and
/// exp(s) / exp(lse) where the latter overflows. head_dim has to be a power of four.
Example large_values_example(InputGenerator& generator, Index head_dim);

/// This one, and inputs whose scores lie so far below 0 that a finite number in place of -inf is exposed, of
/// a hidden score or of an lse. head_dim has to be a power of four.
std::vector<Example> far_examples(InputGenerator& generator, Index head_dim);

/// Ordinary and adversarial inputs of all sizes, some of them masked, none of them large.
std::vector<Example> examples(InputGenerator& generator, int ranks);

/// These and one whose weights, all of them, would be seen in memory.
std::vector<Example> with_a_long_one(InputGenerator& generator, int ranks);

/// What only a grade plays; not in a handout.
std::vector<Example> hidden_rows(InputGenerator& generator, int ranks);
std::vector<Example> hidden_examples(InputGenerator& generator, int ranks);

/// Bytes: four float32 copies of what the contract allows, a block's weights for every query and the
/// gradients, and 2 MB for code and packing. In the long example that is at most 3.3 MB; all of its weights
/// are 4.2 MB, and their gradients as much again.
std::int64_t memory_limit(const Example& example);

/// A function of p, dp and d_lse that gives ds [rows, cols], the gradient of a softmax's scores. Mistakes:
/// d_left_out, d_added, d_is_a_mean, d_of_one_column, diagonal_only, d_lse_left_out, d_lse_subtracted.
Task rows_task(std::string id, std::string function);

/// A function of q, k, v, d_o, lse, delta and the blocks that gives dq, dk and dv, each [heads, tokens,
/// head_dim]. Mistakes: d_left_out, d_added, d_from_one_block, d_from_block_softmax, dp_from_k, dp_scaled,
/// dv_from_ds, dq_unscaled, dk_unscaled, dq_and_dk_unscaled, scaled_twice, not_transposed,
/// q_and_k_swapped, weights_not_normalised, masked_row_nan, hidden_times_zero, mask_ignored,
/// mask_off_by_one, dq_overwritten, dk_dv_overwritten, scores_unscaled, lse_in_other_units.
/// @param tiles how many queries, and keys, a function may work on at a time, of a block: what is then done
/// wrong a tile at a time counts as not_transposed, d_from_one_block, d_from_block_softmax and
/// weights_not_normalised, too, and as dq_transposed, ragged_tile_dropped, padding_seen, added_every_tile,
/// walk_ended_early and tiles_of_one_query.
Task block_task(std::string id, std::string function, std::span<const Index> tiles = {});

/// The same of q, k, v, o, lse, d_o, d_lse and the blocks of keys. Mistakes: those of block_task but
/// dk_dv_overwritten, and d_is_a_mean, d_of_one_column, d_lse_left_out, d_lse_subtracted,
/// visible_not_shifted, visible_unclamped, last_query_decides, ragged_block_dropped, sums_not_cleared.
Task whole_task(std::string id, std::string function);

}  // namespace course::block_backward
