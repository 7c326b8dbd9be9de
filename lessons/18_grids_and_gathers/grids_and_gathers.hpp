#pragma once

#include <mpi.h>

#include <span>

#include "ring/block_attention.hpp"
#include "ring/grid_parts.hpp"
#include "ring/shards.hpp"  // yours to use: course::even_shards
#include "tensor/view.hpp"

namespace lesson18 {

using course::HeadsView;
using course::Index;
using course::MatrixView;
using course::Positions;

/// Of a rank in a grid: u counts the ranks of its Ulysses group, which are consecutive, r its group.
struct Place {
  int u, r;
};

/// Task 1. rank = u + ulysses r.
Place grid_place(int rank, int ulysses);

/// Task 1. The world's rank of place (u, r) where T ranks share each layer's matrices (t counts them, and is
/// innermost), and the grid of U and R exists several times (`replica` counts these, and is outermost). The
/// order is that of Megatron, torchtitan and Llama 3.
int world_rank(int t, int u, int r, int replica, int T, int U, int R);

/// Task 1. The positions of a rank of ulysses * rings, ascending: its group's block, cut into `ulysses`
/// slices, of which it has the u-th. A group's block is the r-th of `rings` contiguous ones; if `zigzag`, of
/// 2 rings chunks the r-th and the r-th from the end. Whatever is cut is cut as course::even_shards does: the
/// first parts have one more where it does not come out even. Source: yunchang's extract_local.py.
Positions grid_positions(Index tokens, int ulysses, int rings, bool zigzag, int rank);

// Tasks 2 to 6 are called by all ranks of comm. q, o, d_o, dq [heads, n, head_dim]; k, v, dk, dv
// [kv_heads, n, head_dim]; lse [heads, n], n tokens on this rank. heads / kv_heads consecutive query heads
// share a key head. positions[rank] are those of this rank's rows; the lists of all ranks have each of 0
// .. N - 1 once, in any layout. Rows follow each other without gaps. Scores are scaled by
// 1/sqrt(head_dim); if `causal`, a query sees the keys up to its own position, else all. A rank without
// tokens takes part. Traffic is measured between ranks of comm, also on communicators made from it; a
// message may be as long as the longest of its kind. Who makes a communicator frees it.

/// Task 2. USP: in the group tokens for heads, then round the ring between groups, and back. Makes the
/// communicators of its group and of its ring from comm, and frees both. Heads are shared out by
/// parts.share within the group; what it gives the ring are heads of which equally many look at each key
/// head, so a share that begins or ends inside a group of query heads takes several rings. Traffic: q, k
/// and v there and o and lse back among the ranks of a group, as in lesson 17; K and V of the group's
/// tokens and its own heads to (u, r + 1) alone, each key head at most ranks / ulysses - 1 times. Throws
/// std::invalid_argument with both numbers unless ulysses >= 1 divides the number of ranks, before
/// anything is sent. Source: Fang and Zhao 2024 (arXiv 2405.07719).
void usp_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                   HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                   int ulysses, bool causal, const course::GridParts& parts, MPI_Comm comm);

/// Exercise, not graded: writes (does not add to) the gradients of task 2, by its way there and back.
void usp_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                  HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                  HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                  std::span<const Positions> positions, int ulysses, bool causal,
                  const course::GridParts& parts, MPI_Comm comm);

/// Task 3. K and V of all ranks are gathered, kv_heads_at_once key heads at a time. block.accumulate is
/// given these, all N keys in the order of the sequence as one block, and their query heads, once (a rank
/// without tokens need not call it), with owner = this rank and, if causal, seen; block.finish writes
/// their o and lse. Traffic: every rank's k and v to every other rank once; MPI_Allgatherv or the like.
/// Memory: 4 kv_heads_at_once N head_dim numbers, as they arrive and in order, twice that if the next are
/// under way; and a state of these query heads. Throws std::invalid_argument with both numbers unless
/// kv_heads_at_once >= 1 divides kv_heads, before anything is sent. Source: Llama 3 (arXiv 2407.21783),
/// section 3.3.2.
void gather_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                      HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                      bool causal, Index kv_heads_at_once, const course::BlockForward& block, MPI_Comm comm);

/// Task 4. Writes (does not add to) the gradients of task 3, from o and lse of the same rows. Each rank's
/// queries give a share to dk and dv of all keys; these are added up and handed out to who has the keys, dq
/// stays. block.accumulate as in task 3. Traffic: task 3's and, of dk and dv, to each rank once what is added
/// to its rows. Memory: twice task 3's. Throws as task 3 does.
void gather_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                     HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                     HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                     std::span<const Positions> positions, bool causal, Index kv_heads_at_once,
                     const course::BlockBackward& block, MPI_Comm comm);

/// Task 5. Whose block `rank` holds after `outer` hops between nodes and `inner` hops in the node, of nodes
/// of `node` consecutive ranks: a block goes to the next rank of its node, and to the same place of the next
/// node, both modulo how many there are. 0 <= outer < world_size / node, 0 <= inner < node. Throws
/// std::invalid_argument with both numbers unless node >= 1 divides world_size.
int double_ring_owner(int rank, int outer, int inner, int node, int world_size);

/// Task 6. A ring in every node, and one between nodes. The block that entered the node is sent on to the
/// next node while it goes round its inner ring: by nonblocking calls, begun before the inner ring has
/// come to its end, and not waited for before a block has been computed meanwhile. Only blocks of which a
/// query of this rank sees a key are given to block.accumulate, each once, with its owner and, if causal,
/// seen; block.finish is called in the end. Traffic: K and V, at most nodes - 1 blocks to rank + node,
/// modulo the number of ranks, and nodes * (node - 1) to the next rank of the node. Memory: three more
/// blocks on two nodes, four on more, and a state. Throws as task 5 does. Source: Gu et al. 2024
/// (LoongTrain, arXiv 2406.18485).
void double_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                           bool causal, int node, const course::BlockForward& block, MPI_Comm comm);

}  // namespace lesson18
