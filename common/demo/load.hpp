#pragma once

#include <span>
#include <vector>

#include "reference/mask.hpp"
#include "ring/layout.hpp"
#include "runner/outcome.hpp"

/// How the work of a ring, or an exchange, is shared among its ranks. At step s of a ring whose blocks go
/// from rank to rank + 1 rank r holds the block of rank (r - s) mod P.
namespace course::demo {

/// Work by rank and step.
using WorkTable = std::vector<std::vector<double>>;

/// The scores of one head that the mask shows.
WorkTable scores_by_step(const Layout& layout, const reference::Mask& mask);

/// No work, at as many steps as there are ranks.
WorkTable empty_table(std::size_t ranks);

/// By rank, whose block it holds at each step, at most as many as there are ranks.
using OwnersByStep = std::vector<std::vector<int>>;

/// Those of a ring.
OwnersByStep ring_owners(int ranks);

/// How many blocks of keys and values each rank has to send where blocks make so many hops, and how many of
/// gradients, which travel with them and then go straight home.
struct BlocksToSend {
  int keys = 0, gradients = 0;
};
std::vector<BlocksToSend> blocks_to_send(const std::vector<int>& hops);

/// The CPU time that ranks computed on each block, forward and backward together: who waits for a core has
/// none. A block of somebody who is no owner counts at the first step.
WorkTable seconds_by_step(std::span<const RankRecord> ranks, const OwnersByStep& owners);

double total(const std::vector<double>& steps);

/// How long a ring takes whose steps last as long as their slowest rank's work, over the time of an equal
/// share: 1 in balance, P when one rank does it all; 0 where there is no work.
double slowest_steps(const WorkTable& work);

}  // namespace course::demo
