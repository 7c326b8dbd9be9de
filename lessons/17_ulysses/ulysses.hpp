#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

#include "ring/block_attention.hpp"
#include "ring/shards.hpp"  // yours to use: course::even_shards
#include "tensor/view.hpp"

namespace lesson17 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

/// Of a rank's shard the position of each row in the sequence, ascending. The lists of all ranks have each of
/// 0 .. N - 1 once; a list may be empty.
using Positions = std::vector<Index>;

/// Heads first .. last - 1; none where they are equal.
using HeadRange = course::KeyRange;

/// Query heads first .. last - 1 of a rank, and the key heads kv_first .. kv_last - 1 that they look at.
/// Where it has no heads, both ranges are empty, wherever they begin.
struct HeadShare {
  Index first, last, kv_first, kv_last;
};

/// Task 1. Query heads are dealt out in order; the first heads mod world_size ranks have one more. Where
/// there are more ranks than heads, the last ones have none. heads / kv_heads consecutive query heads share a
/// key head. Throws std::invalid_argument that names both numbers unless kv_heads >= 1 divides heads.
HeadShare head_share(Index heads, Index kv_heads, int world_size, int rank);

/// Task 1. By rank, the bytes that `rank` sends there in one forward pass: q, k and v to whom has the heads,
/// o and lse back to whom has the tokens; float32, each key head once to a rank that needs it; 0 to itself.
/// shard_tokens[r] tokens are rank r's, of as many ranks as it has. Throws as head_share does.
std::vector<std::int64_t> ulysses_traffic(std::span<const int> shard_tokens, Index heads, Index kv_heads,
                                          Index head_dim, int rank);

// Tasks 2 and 3. heads_of[p] is the range of x's heads that rank p has on the other side; ranges may overlap,
// since a key head may be on several ranks. positions[r] are rank r's. n = positions[rank].size(), N = all of
// them, own = the heads of heads_of[rank]. The rows of x and y follow each other without gaps. A rank without
// tokens or without heads takes part. What goes from one rank to another is as many numbers as the tokens of
// the one times the heads of the other times d, or those of the largest such part; MPI_Alltoallv,
// MPI_Alltoall or messages. Each throws std::invalid_argument, before anything is sent, that names both
// numbers where heads_of or positions do not have one entry for each rank, a range that is not empty ends
// beyond x's heads (its end and their number), or y has other heads, or x or y other rows, than they say; and
// both widths where x and y have not the same.

/// Task 2. x [heads, n, d]: all heads of this rank's tokens. Writes y [own, N, d]: heads_of[rank] of all
/// tokens, which stand in the order of the sequence.
void tokens_to_heads(HeadsView<const float> x, std::span<const HeadRange> heads_of,
                     std::span<const Positions> positions, HeadsView<float> y, MPI_Comm comm);

/// Task 3. The way back: from y as task 2 writes it to x, which is written whole. A head that several ranks
/// have comes home as the sum of what they have; one that nobody has, as 0.
void heads_to_tokens(HeadsView<const float> y, std::span<const HeadRange> heads_of,
                     std::span<const Positions> positions, HeadsView<float> x, MPI_Comm comm);

/// What the forward pass keeps for the backward pass: all N tokens, in the order of the sequence, of the
/// heads of this rank's share. q, o [own, N, d]; k, v [own_kv, N, d]; lse [own, N]; empty where it has none.
struct HeadShard {
  std::vector<float> q, k, v, o, lse;
};

/// Task 4. Attention of all ranks' tokens; q, o [heads, n, d]; k, v [kv_heads, n, d]; lse [heads, n]; heads
/// and key heads by head_share. If `causal`, a query sees the keys up to its own position, else all of them.
/// block.accumulate is given whole heads: of this rank's query heads each once, beside all N tokens of its
/// key head as one block, with scale 1/sqrt(d), owner = this rank and, if causal, seen. It takes equally many
/// query heads for each key head, so a share that begins or ends inside a group takes more than one call; at
/// most one for each query head, and none where there are no heads. block.finish writes o and lse. q, k and v
/// go there once, o and lse come back once: the bytes of ulysses_traffic, or parts as long as the largest.
/// Memory: beside the arguments and the HeadShard, twice what that holds. The rows of lse have no gaps.
/// Source: Jacobs et al. 2023 (arXiv 2309.14509).
HeadShard ulysses_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                            HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                            bool causal, const course::BlockForward& block, MPI_Comm comm);

/// Task 5. The gradients of task 4, from what its forward pass kept: dq [heads, n, d]; dk, dv [kv_heads, n,
/// d] of this rank's tokens, which are written, from d_o [heads, n, d]. d_o goes there once, dq, dk and dv
/// come back once, and no other collective brings a number. block.accumulate as in task 4; memory as there.
void ulysses_backward(const HeadShard& kept, HeadsView<const float> d_o, HeadsView<float> dq,
                      HeadsView<float> dk, HeadsView<float> dv, std::span<const Positions> positions,
                      bool causal, const course::BlockBackward& block, MPI_Comm comm);

}  // namespace lesson17
