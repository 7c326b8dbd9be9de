#pragma once

#include "judge/task.hpp"

/// The softmax of one row that is spread over ranks, for the judges: right, and wrong where a rank ends with
/// another state than that of the whole row.
namespace course::ring_softmax {

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

/// What a chain of blocking calls is held to. Mistakes: world_communicator, sends_to_itself_alone,
/// count_in_bytes.
std::vector<CommunicationCheck> chain_checks();

/// What a rotation of blocking calls is held to. Mistakes: those of chain_checks, wrong_direction,
/// minus_one_is_any_source, every_rank_sends_first, every_rank_receives_first, odd_world_size.
std::vector<CommunicationCheck> rotation_checks();

}  // namespace course::ring_softmax
