#pragma once

#include <span>

#include "demo/load.hpp"
#include "demo/report.hpp"

namespace course::demo {

/// "1.13 MiB".
std::string format_bytes(std::int64_t bytes);

/// What a ring's slowest rank took, from its first span's begin to its last one's end.
double slowest_s(const RingResult& ring);

/// Communication that nothing hid (timed::exposed_share). Not a number where ranks compute on GPUs, real or
/// not.
double exposed(const RunResult& run, const RingResult& ring);

/// The hops of each block of keys and values: in a ring of packed rows to the last rank that sees a key of
/// it, in all others all the way round, wherever its keys are seen.
std::vector<int> hops_of_blocks(const Demonstration& shown);

/// By rank what a ring has to send, each message as long as the longest shard: every block on its hops, and
/// its gradients along and straight home.
std::vector<std::int64_t> bytes_of_ring(const Demonstration& shown);

/// What all ranks together have to send, in a ring or in the exchange.
std::int64_t bytes_needed(const RunResult& run);

/// What each rank has to compute, by step: of a ring the scores of one head, of an exchange those of its
/// heads.
WorkTable scores_to_compute(const Demonstration& shown);

std::int64_t bytes_sent(std::span<const RankRecord> ranks);

/// The rings beside each other in less than 80 columns: time of the slowest rank, communication that was
/// exposed, traffic, the worst head's relative errors and what is allowed.
std::string ring_table(const RunResult& run);

/// Traffic and times, by rank and over all.
std::string time_table(const RunResult& run, std::span<const RankRecord> ranks);

/// The errors of some outputs, by rank and over all; dashes for a rank that has nothing.
std::string error_table(const RunResult& run, std::span<const OutputComparison> outputs);

/// What the mask leaves each rank to compute, how long that took, and how long it waited.
std::string load_table(const RunResult& run, const RingResult& ring);

/// Of an exchange the heads that each rank computes, how long that took, what it sends on each way, and what
/// a ring would on this input.
std::string exchange_table(const RunResult& run, const RingResult& ring);

}  // namespace course::demo
