#pragma once

#include "judge/attention/packed/packed.hpp"

/// Tasks of a lesson whose rows are packed. Those of tables are played on one rank, whose outputs tell of all
/// ranks; each gives whole numbers, and refuses what it cannot take.
namespace course::packed {

/// A function of the arguments tokens, starts and ranks that gives the positions of each rank [ranks, tokens
/// + 2] where every document is in zigzag, -1 behind the last.
Task positions_task(std::string id, std::string function);

/// A function of the arguments sequence and starts, and arguments_of a layout, that gives each rank's tokens,
/// labels and position_ids [ranks, longest shard], -1 behind the last.
Task batch_task(std::string id, std::string function);

/// A function of a mask and a layout that gives first and last [ranks, ranks, longest shard], the keys of the
/// second rank's shard that each query of the first one's sees, [0, 0) where it sees none.
Task ranges_task(std::string id, std::string function);

/// A function of a mask and a layout that gives hops [ranks + 1], of each block, -1 behind the last.
Task hops_task(std::string id, std::string function);

/// A ring of packed rows with slopes and sinks, in which blocks stop where nobody needs them. Mistakes:
/// never_stops, which may follow from documents_ignored, window_too_wide and start_by_lower_bound;
/// hop_by_own_need and empty_block_computed.
Task ring_task(std::string id, std::string function);

/// The same backward. Mistakes: hop_by_own_need and empty_block_computed.
Task ring_backward_task(std::string id, std::string function);

/// What rings are played on; the second with a gradient.
std::vector<Example> ring_examples(InputGenerator& generator, int ranks);
std::vector<Example> backward_ring_examples(InputGenerator& generator, int ranks);

/// What only a grade plays: any documents, window and layout.
std::vector<Example> hidden_rings(InputGenerator& generator, int ranks);
std::vector<Example> hidden_backward_rings(InputGenerator& generator, int ranks);

}  // namespace course::packed
