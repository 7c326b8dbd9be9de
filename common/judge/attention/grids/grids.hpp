#pragma once

#include <functional>
#include <string>

#include "judge/attention/grouped/grouped.hpp"

/// Attention on a grid of exchanges and rings, over gathered keys and values, and round a ring of rings, for
/// the judges. Examples have query heads that share key heads, on any layout, causal or not.
namespace course::grids {

/// A grid's layout: each block of a contiguous or a zigzag layout of so many rings, cut into slices.
Layout layout_of(int tokens, int ulysses, int rings, bool zigzag);

/// Attention with the argument ulysses, kv_heads_at_once or node.
Example on_grid(InputGenerator& generator, int ulysses, const std::string& what, const Layout& layout,
                const grouped::Sizes& sizes, bool causal);
Example gathering(InputGenerator& generator, Index at_once, const std::string& what, const Layout& layout,
                  const grouped::Sizes& sizes, bool causal);
Example in_nodes(InputGenerator& generator, int node, const std::string& what, const Layout& layout,
                 const grouped::Sizes& sizes, bool causal);

/// A wrong answer with its numbers of heads, this argument and what else tells of its ranks.
std::function<std::string(const Played&)> sizes_in_words(std::string argument);

/// A function of the arguments ulysses, rings, zigzag, tokens, tensor and replicas that gives u, r and the
/// positions [ranks, tokens + 1] of each rank, -1 behind the last, and world_rank [tensor, ulysses, rings,
/// replicas]. It is played on one rank, and tells of all.
Task places_task(std::string id, std::string function);

/// A function of the argument ulysses in which tokens are exchanged for heads within groups of so many ranks,
/// and K and V go from group to group. It refuses another number.
Task usp_task(std::string id, std::string function);

/// A function of the argument kv_heads_at_once that gathers so many key heads of all ranks at a time. It
/// refuses a number that does not divide the key heads. Mistake: all_heads_at_once.
Task gather_task(std::string id, std::string function);

/// Its gradients.
Task gather_backward_task(std::string id, std::string function);

/// A function of the arguments node and ranks that gives owner [ranks, nodes, node], of whose block a rank
/// has after how many hops between nodes and inside. It is played on one rank, and tells of all.
Task owner_task(std::string id, std::string function);

/// A function of the argument node that sends blocks round a ring in each node and between nodes. Mistake:
/// outer_sends_last_held.
Task double_ring_task(std::string id, std::string function);

/// What only a grade plays: any grid, heads and layout.
std::vector<Example> hidden_grids(InputGenerator& generator, int ranks);
std::vector<Example> hidden_gathers(InputGenerator& generator, int ranks);
std::vector<Example> hidden_backward_gathers(InputGenerator& generator, int ranks);
std::vector<Example> hidden_double_rings(InputGenerator& generator, int ranks);

}  // namespace course::grids
