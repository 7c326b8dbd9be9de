#pragma once

#include <string>
#include <vector>

#include "judge/diagnose.hpp"

namespace course {

/// "every answer is as if the last key were missing": a change of the inputs after which the task's own
/// expected answer explains all that was played, as a mistake would, and which the witness admits. Tried are
/// the keys of attention (inputs "k" and "v", [heads, keys, head_dim]) without the last, the last of every
/// shard or the first, and all inputs rounded to bfloat16 or float16. Empty when none explains it: also where
/// an output has as many rows as there are keys, so that the expected answer changes its shape.
std::string as_if(const Task& task, const Played& witness, const std::vector<const Played*>& all);

}  // namespace course
