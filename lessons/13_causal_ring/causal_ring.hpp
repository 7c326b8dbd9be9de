#pragma once

#include <mpi.h>

#include <span>

#include "ring/block_attention.hpp"
#include "tensor/view.hpp"

namespace lesson13 {

// The mask of this lesson: the query at position i of the sequence sees the keys at positions 0 .. i +
// offset. With offset = 0 it sees itself and all before it. Shards are contiguous: rank 0 has the first
// positions.

/// Task 1. The keys that each query of a shard sees of one block. The queries stand at positions first_query,
/// first_query + 1, ..., as many as `seen` has entries; the block's `keys` keys at positions first_key,
/// first_key + 1, .... Writes seen[i]: query i sees the keys from first to last - 1, counted in the block, 0
/// <= first <= last <= keys, and first == last where it sees none of them. `keys` and the number of queries
/// may be 0 and may differ; offset may be below 0.
void key_ranges(course::Index first_query, course::Index first_key, course::Index keys, course::Index offset,
                std::span<course::KeyRange> seen);

/// Task 2. How many scores rank `rank` has to compute at step `step` of a ring, for each head: as many as its
/// queries see of the keys of the block that it holds after `step` hops (0 <= step < P). Blocks go from rank
/// to rank + 1 modulo P = shard_tokens.size(); shard_tokens[r] >= 0 is the number of queries, and of keys, of
/// rank r.
course::Index work(int rank, int step, std::span<const int> shard_tokens, course::Index offset);

/// Task 3. Lets every query see its keys of one block: with s_ij = q_i . k_j / sqrt(head_dim) for j in
/// seen[i],
///   m_i' = max(m_i, max_j s_ij),  l_i' = l_i exp(m_i - m_i') + sum_j exp(s_ij - m_i'),
///   o_i' = o_i exp(m_i - m_i') + sum_j exp(s_ij - m_i') v_j.
/// q [heads, queries, head_dim]; k, v [heads, keys, head_dim]; seen[i] is the range of keys of query i, of
/// all heads, 0 <= first <= last <= keys. A query whose range is empty keeps its state, also that of a query
/// that has seen nothing yet: m = -inf, l = 0, o = 0. Scores are finite. Source: Dao 2023 (FlashAttention-2),
/// algorithm 1, the inner loop.
void attend_seen(course::HeadsView<const float> q, course::HeadsView<const float> k,
                 course::HeadsView<const float> v, std::span<const course::KeyRange> seen,
                 course::AttentionState& state);

/// Task 4. Causal attention of this rank's queries over the keys and values of all ranks of comm. Queries
/// stay; keys and values travel round the ring, each rank sending to rank + 1 and receiving from rank - 1,
/// modulo P.
///
/// q, k, v, o [heads, n, head_dim] and lse [heads, n] are this rank's shard, n = shard_tokens[rank];
/// shard_tokens[r] is the number of tokens of rank r, known to everybody, unequal, perhaps 0. A query that
/// sees no key gets o = 0 and lse = -inf.
///
/// A block of which some query of this rank sees a key is given to block.accumulate once, with the ranges of
/// keys that the queries see and with its owner's rank. A block of which none sees a key is not, and that
/// holds for this rank's own block, too. block.finish then writes o and lse.
///
/// A rank sends keys and values for at most P - 1 hops, each message as long as its block or padded to the
/// largest shard's; a block that nobody ahead sees may stay. Uses comm, or a communicator made of it
/// (MPI_Comm_dup, MPI_Comm_split, MPI_Cart_create), and frees each communicator, group, datatype and
/// operation that it makes; no collective for keys, values or gradients (MPI_Alltoallv, too, is one), and no
/// call whose bytes nobody counts (MPI_Win_..., MPI_Neighbor_..., MPI_Alltoallw); blocking calls will do;
/// must not rely on MPI_Send buffering. Memory for at most two more blocks of keys and values, of the largest
/// shard's size. Source: Liu et al. 2023 (arXiv 2310.01889), algorithm 1, under a mask.
void causal_ring_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                           course::HeadsView<const float> v, course::HeadsView<float> o,
                           course::MatrixView<float> lse, std::span<const int> shard_tokens,
                           course::Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm);

/// Task 5. The gradients of the same with respect to this rank's queries, keys and values. o, lse, d_o and dq
/// stay with the queries; dk and dv travel with the keys and values that they belong to, take up the shares
/// of the ranks that see a key of them, and come home.
///
/// q, k, v, o, d_o, dq, dk, dv [heads, n, head_dim] and lse [heads, n] are this rank's shard. o and lse are
/// what the forward ring returned; d_o is the gradient that arrives at o. What dq, dk and dv hold beforehand
/// is undefined. A query that sees no key has dq = 0 and gives nothing; a key that nobody sees has dk = dv =
/// 0.
///
/// A block of which some query of this rank sees a key is given to block.accumulate once, with the ranges,
/// its owner's rank, delta_i = o_i . d_o_i of this rank's queries, and room for its dk and dv; accumulate
/// adds. Another one is not.
///
/// A rank sends keys and values for at most P - 1 hops, and dk and dv for at most P; nothing at all when
/// P = 1. For the rest as task 4, with memory for two more blocks of gradients, too, and one number a head
/// and query. Source: Liu et al. 2023 (arXiv 2310.01889), section 3; delta: Dao et al. 2022, appendix B.
void causal_ring_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                          course::HeadsView<const float> v, course::HeadsView<const float> o,
                          course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
                          course::HeadsView<float> dq, course::HeadsView<float> dk,
                          course::HeadsView<float> dv, std::span<const int> shard_tokens,
                          course::Index offset, const course::MaskedBlockAttentionBackward& block,
                          MPI_Comm comm);

}  // namespace lesson13
