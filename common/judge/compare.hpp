#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/task.hpp"

namespace course {

/// The norm of `answer - truth` over the norm of `truth`, the worst of the groups of the first axis (heads,
/// rows); a tensor of one axis is one group. An entry that is NaN or infinite must be so in both, else the
/// error is infinite. Where the truth's norm is 0 (masked rows), any difference at all is an infinite error.
double relative_error(const Tensor64& answer, const Tensor64& truth);

/// How far a right float32 answer may be from the truth on this example: a multiple of the float32 baseline's
/// own error, and not less than a few roundings.
double tolerance(const Tensor64& baseline, const Tensor64& truth);

/// Where and by how much an output is wrong, in words:
/// "rank 1: o[head 0, row 17, col 4] is 0.31, should be 0.47", the relative error by rank, how many entries
/// and which rows are wrong.
std::string locate(const Output& output, const Tensor64& answer, const Tensor64& truth, double tolerance,
                   const std::vector<int>& shard_tokens);

}  // namespace course
