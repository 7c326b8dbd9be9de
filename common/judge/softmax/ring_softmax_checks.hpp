#pragma once

#include "judge/task.hpp"

/// What passes between the ranks that make the softmax of one row.
namespace course::ring_softmax {

/// With an odd world size two neighbours are both even and both send first. This is the one of them that
/// should receive from the other: rank 0, or the last in a ring to rank - 1.
int unserved_rank(const Example& example);

/// What a chain of blocking calls is held to. Mistakes: world_communicator, sends_to_itself_alone,
/// count_in_bytes.
std::vector<CommunicationCheck> chain_checks();

/// What a rotation of blocking calls is held to. Mistakes: those of chain_checks, wrong_direction,
/// minus_one_is_any_source, every_rank_sends_first, every_rank_receives_first, odd_world_size.
std::vector<CommunicationCheck> rotation_checks();

}  // namespace course::ring_softmax
