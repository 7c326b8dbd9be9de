#pragma once

#include "judge/task.hpp"

/// Attention by a function that takes a state through blocks of keys and is given, with each, a range of keys
/// for every query, for the judges: what goes wrong at a query whose range is empty.
namespace course::range_walk {

/// state_forward::range_task of such a function. Further mistakes: ended_at_empty_range,
/// weight_of_hidden_key. A wrong answer is told with the ranges of its first wrong row.
Task task(std::string id, std::string function);

}  // namespace course::range_walk
