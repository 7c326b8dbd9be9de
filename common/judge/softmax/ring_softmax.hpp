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
/// player/softmax_steps.hpp. A state travels the chain 0 -> 1 -> ... and is shared at its end. Mistakes:
/// result_not_shared, shared_from_rank_0, sends_before_merging, half_a_state, local_weights, lse_without_m.
Task chain_task(std::string id, std::string function);

/// The same by rotation: every rank's state passes every rank. Mistakes: odd_world_size, own_state_every_hop,
/// merged_state_travels, receives_over_the_send_buffer, sent_state_merged, nothing_merged, one_hop_too_many,
/// one_hop_short, half_a_state, local_weights, lse_without_m.
Task rotation_task(std::string id, std::string function);

}  // namespace course::ring_softmax
