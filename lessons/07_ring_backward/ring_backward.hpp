#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

#include "ring/block_attention.hpp"
#include "tensor/view.hpp"

namespace lesson07 {

/// What one rank sends to the next in one backward pass, in bytes.
struct Traffic {
  std::int64_t keys_values = 0;  ///< K and V together
  std::int64_t gradients = 0;    ///< dK and dV together
};

/// Task 1. What rank `rank` sends in a backward pass round a ring of shard_tokens.size() >= 1 ranks, when
/// every block sets out from its own rank, with its gradients, and goes from rank to rank + 1 modulo P. K and
/// V go as far as there is a rank that has to compute with them, dK and dV until they are home. One rank
/// alone sends nothing. K, V, dK and dV of a rank with n tokens are [heads, n, head_dim] float32 each;
/// shard_tokens[r] is the number of tokens of rank r, perhaps 0. Messages are as long as their blocks.
Traffic backward_traffic(std::span<const int> shard_tokens, course::Index heads, course::Index head_dim,
                         int rank);

/// Task 2. The gradients of attention over the keys and values of all ranks of comm, with respect to this
/// rank's queries, keys and values. Queries stay, with all that belongs to them: o, lse, d_o, dq. Keys and
/// values travel round the ring, each rank sending to rank + 1 and receiving from rank - 1, modulo P; dk and
/// dv travel with the keys and values that they belong to, take up every rank's share, and come home.
///
/// q, k, v, o, d_o, dq, dk, dv [heads, n, head_dim] and lse [heads, n] are this rank's shard,
/// n = shard_tokens[rank]; shard_tokens[r] is the number of tokens of rank r, known to everybody, unequal,
/// perhaps 0. o and lse are what the forward ring returned, lse of the whole rows over all ranks' keys; d_o
/// is the gradient that arrives at o. What dq, dk and dv hold beforehand is undefined.
///
/// Each block, this rank's own too, is given to block.accumulate once, with its owner's rank, with
/// delta_i = o_i . d_o_i of this rank's queries, and with room for its dk and dv; accumulate adds.
///
/// A rank sends keys and values for at most P - 1 hops, and dk and dv for at most P, each message as long as
/// its block or padded to the largest shard's; nothing at all when P = 1. Uses comm, or a communicator made
/// of it (MPI_Comm_dup, MPI_Comm_split, MPI_Cart_create), and frees each communicator, group, datatype and
/// operation that it makes; no collective for keys, values or gradients (MPI_Alltoallv, too, is one), and no
/// call whose bytes nobody counts (MPI_Win_..., MPI_Neighbor_..., MPI_Alltoallw); blocking calls will do;
/// must not rely on MPI_Send buffering. Memory for at most two more blocks of keys and values and of their
/// gradients, of the largest shard's size, and one number a head and query. Source: Liu et al. 2023 (arXiv
/// 2310.01889), section 3; delta: Dao et al. 2022, appendix B.
void ring_attention_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                             course::HeadsView<const float> v, course::HeadsView<const float> o,
                             course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
                             course::HeadsView<float> dq, course::HeadsView<float> dk,
                             course::HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm);

}  // namespace lesson07
