#pragma once

#include "judge/task.hpp"

/// The merge of two states of a softmax, for the judges: right, and wrong in the ways that are known.
namespace course::state_merge {

/// What only a grade plays; not in a handout.
std::vector<Example> hidden_examples(InputGenerator& generator, int ranks);

/// The merge of two states: a function of m and l [rows, parts] that gives lse [rows], of each row's states
/// merged from left to right. Mistakes: l_not_rescaled, rescale_inverted, block_from_old_maximum,
/// masked_minus_masked, full_part_lost.
Task task(std::string id, std::string function);

}  // namespace course::state_merge
