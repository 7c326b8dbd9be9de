#pragma once

#include "judge/task.hpp"

/// A softmax in one pass over blocks, for the judges: right, and wrong in the ways that are known.
namespace course::online_softmax {

/// scores [rows, n] with values [n, d] whose mean is not 0, so that a wrong sum of weights shows; the
/// argument block, how many scores one has.
Example make_example(InputGenerator& generator, std::string what, Tensor scores, Index d, int block);

/// What only a grade plays; not in a handout.
std::vector<Example> hidden_examples(InputGenerator& generator, int ranks);

/// One pass over a row: a function of scores, values and block that gives o [rows, d] and lse [rows].
/// Mistakes: l_not_rescaled, o_not_rescaled, rescale_inverted, rescale_by_block_maximum, m_starts_at_zero,
/// m_starts_at_minus_1e4, masked_minus_masked, zero_by_zero, final_division_missing,
/// overwritten_not_accumulated, block_from_old_maximum, divided_every_block, first_rows_every_block,
/// ragged_block_dropped, lse_without_m, lse_base_2.
Task task(std::string id, std::string function);

}  // namespace course::online_softmax
