#pragma once

#include "judge/task.hpp"

/// Softmax and logsumexp of the rows of a matrix, for the judges: right, and wrong in the ways that are
/// known.
namespace course::row_softmax {

/// x [rows, cols].
Example make_example(std::string what, Tensor x);

/// What only a grade plays; not in a handout.
std::vector<Example> hidden_examples(InputGenerator& generator, int ranks);

/// A function of x that gives p [rows, cols]. Mistakes: those of logsumexp_task, along_columns and
/// weights_from_rounded_lse.
Task softmax_task(std::string id, std::string function);

/// A function of x that gives lse [rows]. Mistakes: masked_row_nan, no_maximum, global_maximum,
/// epsilon_in_denominator.
Task logsumexp_task(std::string id, std::string function);

}  // namespace course::row_softmax
