#pragma once

#include "bench/contest.hpp"
#include "bench/played.hpp"

namespace course::bench {

/// Throws UsageError where tokens do not make shards of one length.
void require_even_shards(int tokens, int ranks);

/// A function of q, k and v on contiguous shards of one length, on so many ranks with the contest's blocks,
/// by the clock: its rate is that of a rank.
Contender by_clock(const Contest& contest, const std::string& name,
                   const std::shared_ptr<const Problem>& problem, int ranks, PlayedFunction function);

}  // namespace course::bench
