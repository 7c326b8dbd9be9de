#pragma once

#include "judge/task.hpp"
#include "ring/softmax_state.hpp"

/// The softmax of one row that is spread over ranks, for the judges: right, and wrong where a rank ends with
/// another state than that of the whole row.
namespace course::ring_softmax {

inline constexpr std::int64_t state_bytes = sizeof(SoftmaxState);

/// x, cut into shards of these lengths.
Example make_example(std::string what, Tensor x, std::vector<int> shards);

/// What only a grade plays; not in a handout.
std::vector<Example> hidden_examples(InputGenerator& generator, int ranks);

/// A function of x that gives p of a rank's scores and lse [1] of the whole row, with the arithmetic of
/// player/softmax_steps.hpp. A state travels the chain 0 -> 1 -> ... and is shared at its end.
Task chain_task(std::string id, std::string function);

/// The same by rotation: every rank's state passes every rank.
Task rotation_task(std::string id, std::string function);

}  // namespace course::ring_softmax
