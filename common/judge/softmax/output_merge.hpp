#pragma once

#include "judge/task.hpp"

/// The merge of two normalised outputs and their logsumexps, for the judges: right, and wrong in the ways
/// that are known.
namespace course::output_merge {

/// The merge of two normalised parts: a function of o, o_b [rows, d] and lse, lse_b [rows] that gives o and
/// lse of both. Mistakes: sigmoids_swapped, same_sigmoid_twice, empty_accumulator_nan, empty_part_nan,
/// both_empty_nan, full_part_lost, lse_overflow, lse_updated_before_o, lse_base_2, weights_not_normalised,
/// parts_averaged, lse_not_merged.
Task task(std::string id, std::string function);

/// What only a grade plays; not in a handout.
std::vector<Example> hidden_examples(InputGenerator& generator, int ranks);

}  // namespace course::output_merge
