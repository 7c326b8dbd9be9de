#pragma once

#include <string>
#include <vector>

#include "runner/deadlock.hpp"
#include "runner/wait_for_graph.hpp"

namespace course {

/// The same call on the same communicator, as often called there, with the same root.
bool is_same_collective(const PendingOperation& a, const PendingOperation& b);

/// One line for each rank, `first` before the others; with 8 ranks or more, one for all that do the same.
std::string describe_ranks(const std::vector<RankSnapshot>& ranks, const WaitForGraph& graph,
                           const std::vector<int>& first);

/// Each of these is the last line, which says what is wrong.
std::string conclude_cycle(const std::vector<int>& in_order, bool all_send);
std::string conclude_near_miss(const NearMiss& miss);
std::string conclude_finished(const std::vector<RankSnapshot>& ranks, const Wait& wait,
                              const std::vector<int>& peers);
std::string conclude_collectives(const WaitForGraph& graph, const std::vector<int>& waiting);
std::string conclude_collective_without(const std::vector<RankSnapshot>& ranks,
                                        const PendingOperation& collective);
std::string conclude_no_match(const std::vector<RankSnapshot>& ranks, const WaitForGraph& graph,
                              const std::vector<int>& waiting);

}  // namespace course
