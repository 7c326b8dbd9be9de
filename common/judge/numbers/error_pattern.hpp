#pragma once

#include <string>
#include <vector>

#include "judge/task.hpp"

namespace course {

/// What the wrong entries of an output have in common, in one line: what they hold instead of numbers, whose
/// place they belong in, by what factor or constant they are off, to what precision they are rounded. Only
/// what the numbers prove: numbers wrong in an unrelated way would look so less than once in a million times.
/// Empty when nothing is proven, when fewer than two entries are wrong, and when the output is right.
std::string error_pattern(const Output& output, const Tensor64& answer, const Tensor64& expected,
                          double tolerance, const std::vector<int>& shard_tokens);

}  // namespace course
