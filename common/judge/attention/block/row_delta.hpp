#pragma once

#include "judge/task.hpp"

/// The sums D of a backward pass, on their own, for the judges: right, and with a known mistake.
namespace course::row_delta {

/// A function of o and d_o [heads, rows, head_dim] that gives delta [heads, rows], D = rowsum(o * d_o).
/// Mistakes: d_is_a_mean, d_of_one_column, and lanes_not_added, the share of a warp's lane 0 alone.
Task task(std::string id, std::string function);

}  // namespace course::row_delta
