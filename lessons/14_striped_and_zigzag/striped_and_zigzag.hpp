#pragma once

#include <mpi.h>

#include <span>
#include <vector>

#include "ring/block_attention.hpp"
#include "tensor/view.hpp"

namespace lesson14 {

/// The global positions of one rank's tokens, ascending; perhaps none. Row i of the rank's shard is the token
/// at positions[i].
using Positions = std::vector<course::Index>;

/// Task 1. The positions that `rank` owns when position t belongs to rank t mod world_size. tokens >= 0 need
/// not be a multiple of world_size >= 1. Source: Brandon et al. 2023 (arXiv 2311.09431), section 3.
Positions striped_positions(course::Index tokens, int world_size, int rank);

/// Task 1. The positions that `rank` owns when 0 .. tokens - 1 are cut into 2 world_size contiguous chunks,
/// of which rank r owns the r-th and the (2 world_size - 1 - r)-th. The first tokens mod (2 world_size)
/// chunks hold one token more than the others; a chunk may be empty. Source: Megatron-Core's context
/// parallelism; where 2 world_size divides tokens, chunks are the same.
Positions zigzag_positions(course::Index tokens, int world_size, int rank);

/// Task 2. Copies to `shard` [heads, n, head_dim] the rows of `whole` [heads, tokens, head_dim] at these n
/// positions.
void shard_rows(course::HeadsView<const float> whole, std::span<const course::Index> positions,
                course::HeadsView<float> shard);

/// Task 2. The way back: `gathered` [heads, tokens, head_dim] has the rows of rank 0's shard first, then
/// those of rank 1's, and so on; positions[r] are those of rank r, every position of 0 .. tokens - 1 on one
/// rank. Writes every row to its position of `whole` [heads, tokens, head_dim].
void unshard_rows(course::HeadsView<const float> gathered, std::span<const Positions> positions,
                  course::HeadsView<float> whole);

/// The label of a token that has no next one, as PyTorch's cross_entropy leaves it out.
inline constexpr int ignored_label = -100;

/// What a rank feeds its model of one sequence; three lists of one length.
struct Batch {
  std::vector<int> tokens;
  std::vector<int> labels;  ///< of each token the one that follows it in the sequence, else ignored_label
  Positions position_ids;   ///< what a rotary embedding turns by: 0 for the sequence's first token
};

/// Task 3. The shard of a sequence of tokens at these positions.
Batch shard_batch(std::span<const int> sequence, std::span<const course::Index> positions);

/// Task 4. Of each query of a shard, by its row, the keys of a block that a causal mask shows it: those at
/// its own position and before. Both lists of positions ascend. Where it sees none, any empty range.
std::vector<course::KeyRange> key_ranges(std::span<const course::Index> query_positions,
                                         std::span<const course::Index> key_positions);

/// Task 4. How many scores `rank` computes at a step, 0 <= step < positions.size(), of a ring that sends
/// blocks to rank + 1 modulo P, when it computes those that the mask shows and no other. At step 0 every rank
/// has its own block; positions[r] are those of rank r.
course::Index causal_work(std::span<const Positions> positions, int rank, int step);

}  // namespace lesson14
