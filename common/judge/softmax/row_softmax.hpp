#pragma once

#include "judge/task.hpp"

/// Softmax and logsumexp of the rows of a matrix, for the judges: right, and wrong in the ways that are
/// known.
namespace course::row_softmax {

/// x [rows, cols].
Example make_example(std::string what, Tensor x);

/// What only a grade plays; not in a handout.
std::vector<Example> hidden_examples(InputGenerator& generator, int ranks);

/// A function of x that gives p [rows, cols]. Mistakes: masked_row_nan, no_maximum, global_maximum,
/// m_starts_at_zero, sum_unshifted, sum_kept, epsilon_in_denominator, along_columns, final_division_missing,
/// weights_from_rounded_lse.
Task softmax_task(std::string id, std::string function);

/// A function of x that gives lse [rows]. Mistakes: masked_row_nan, no_maximum, global_maximum,
/// m_starts_at_zero, sum_unshifted, sum_kept, epsilon_in_denominator, lse_without_m, lse_base_2.
Task logsumexp_task(std::string id, std::string function);

}  // namespace course::row_softmax
