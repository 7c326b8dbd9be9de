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
/// its own position and before. Both lists of positions ascend. Where it sees none, any empty range within
/// 0 .. key_positions.size().
std::vector<course::KeyRange> key_ranges(std::span<const course::Index> query_positions,
                                         std::span<const course::Index> key_positions);

/// Task 4. How many scores of one head `rank` computes at a step, 0 <= step < positions.size(), of a ring
/// that sends blocks to rank + 1 modulo P, when it computes those that the mask shows and no other. At step 0
/// every rank has its own block; positions[r] are those of rank r.
course::Index causal_work(std::span<const Positions> positions, int rank, int step);

/// Task 5. Causal attention of this rank's queries over the keys and values of all ranks of comm: a query
/// sees the keys at its own position and before. Queries stay; keys and values travel round the ring, each
/// rank sending to rank + 1 and receiving from rank - 1, modulo P.
///
/// q, k, v, o [heads, n, head_dim] and lse [heads, n] are this rank's shard: row i is the token at
/// positions[rank][i]. positions[r] are the positions of rank r, known to everybody: any ascending lists,
/// perhaps empty, every position of the sequence on one rank.
///
/// Each block of which a query of this rank sees a key, and no other, is given to block.accumulate once, with
/// the keys that each query sees and its owner's rank; block.finish then writes o and lse. All else is as in
/// lesson 05: at most P - 1 hops, messages as long as their blocks or padded to the largest shard's, comm or
/// a communicator made of it, frees what it makes of MPI, no call whose bytes nobody counts, no reliance
/// on MPI_Send buffering, memory for at most two more blocks.
void causal_ring_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                           course::HeadsView<const float> v, course::HeadsView<float> o,
                           course::MatrixView<float> lse, std::span<const Positions> positions,
                           const course::MaskedBlockAttention& block, MPI_Comm comm);

/// Task 6. The gradients of task 5's attention with respect to this rank's queries, keys and values. dk and
/// dv travel with the keys and values that they belong to, and come home.
///
/// q, k, v, o, d_o, dq, dk, dv [heads, n, head_dim], lse [heads, n] and positions are as in task 5; o and lse
/// are what it returned, d_o the gradient that arrives at o. What dq, dk and dv hold beforehand is undefined.
/// accumulate adds, is given delta_i = o_i . d_o_i of this rank's queries, and again only blocks of which a
/// query sees a key; the others travel on untouched. At most P - 1 hops of keys and values and P of dk and
/// dv, nothing when P = 1. All else is as in lesson 07.
void causal_ring_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                          course::HeadsView<const float> v, course::HeadsView<const float> o,
                          course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
                          course::HeadsView<float> dq, course::HeadsView<float> dk,
                          course::HeadsView<float> dv, std::span<const Positions> positions,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm);

}  // namespace lesson14
