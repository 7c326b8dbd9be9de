#pragma once

#include "judge/task.hpp"

/// Attention over blocks of keys on one rank, for the judges: the forward pass, right, and wrong in the ways
/// that are known.
namespace course::block_forward {

/// q [heads, queries, head_dim], k and v [heads, keys, head_dim]; the arguments block, how many keys one has,
/// and empty_block, whether one without keys comes behind the others where the adapter walks them.
Example make_example(std::string what, QKV qkv, Index block);

/// Every other query, from the first on, made zeros: its scores are 0, which does not hide a key.
QKV with_zero_queries(QKV qkv);

/// Ordinary and adversarial inputs of all sizes, none of them large.
std::vector<Example> examples(InputGenerator& generator, int ranks);

/// Inputs whose scores lie so far from 0, or so far apart, that a finite number in place of -inf is exposed,
/// a maximum that is followed too seldom, and keys that are dropped (exact_scores_qkv() of the input
/// generator). head_dim has to be a power of four.
std::vector<Example> far_examples(InputGenerator& generator, Index head_dim, Index block);

/// These and one whose scores, all of them, would be seen in memory.
std::vector<Example> with_a_long_one(InputGenerator& generator, int ranks);

/// What only a grade plays; not in a handout.
std::vector<Example> hidden_examples(InputGenerator& generator, int ranks);

/// Bytes: four float32 copies of a block's scores for every query and of the output, and 2 MB for code and
/// packing. In the long example that is at most 3.9 MB; all of its scores are 8.4 MB.
std::int64_t memory_limit(const Example& example);

/// The mistakes of the scale, of an example's q, k, v under its mask.
std::vector<Mistake> scale_mistakes();

/// A function of q, k, v and block that gives o [heads, queries, head_dim] and lse [heads, queries].
/// Mistakes: scale_missing, scale_is_one_over_d, scale_inverted, scale_after_softmax, o_not_rescaled,
/// l_not_rescaled, neither_rescaled, rescale_inverted, rescale_by_block_maximum, overwritten_not_accumulated,
/// rescaled_twice, rescaled_too_seldom, first_rows_every_block, first_block_only, m_starts_at_zero,
/// m_starts_at_minus_1e4, no_maximum,
/// divided_every_block, final_division_missing, lse_without_m, lse_without_log,
/// ragged_block_padded, ragged_block_dropped, no_keys_nan, blocks_normalised.
Task task(std::string id, std::string function);

}  // namespace course::block_forward
