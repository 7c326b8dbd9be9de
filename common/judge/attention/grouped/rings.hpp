#pragma once

#include "judge/checks/traffic_checks.hpp"

/// What a ring is held to whose blocks are of other sizes than its queries, by what travels in it.
namespace course::grouped {

/// Of the inputs that travel, the bytes of so many tokens.
using BytesOfTokens = std::int64_t (*)(const Example&, int tokens);

/// The bytes of the longest shard, which every message may be as long as.
std::int64_t bytes_of_longest(BytesOfTokens bytes, const Example& example);

/// Blocks go to the next rank alone, and make so many hops.
/// @param times how many times too much the mistake `sent_in_vain` sends; 1 where it is right
CommunicationCheck sends_whole_rounds(BytesOfTokens bytes, checks::Hops hops,
                                      std::int64_t (*times)(const Example&), const char* sent_in_vain);

/// The world's communicator is not used, messages and memory are whole, nothing is left open; what is sent,
/// `traffic` says, and where blocks are large there is memory for dq and for so many `rooms` of a block.
std::vector<CommunicationCheck> ring_checks(CommunicationCheck traffic, BytesOfTokens bytes, int rooms);

/// Beside q and the outputs: two more blocks and a state, or with their gradients five, twice, since MPI
/// takes as much again.
inline constexpr int rooms_of_forward = 2 * (2 + 1), rooms_of_backward = 2 * (2 * 2 + 1);

}  // namespace course::grouped
