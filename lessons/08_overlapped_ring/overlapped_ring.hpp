#pragma once

#include <mpi.h>

#include <span>

#include "ring/block_attention.hpp"
#include "tensor/view.hpp"

namespace lesson08 {

/// What decides whether a ring's transfers hide behind its work.
struct Setup {
  double flops_per_s;     ///< F, what one rank achieves, not what the data sheet says
  double bytes_per_s;     ///< B, one way, of one rank: its own share of a link that ranks share
  double element_bytes;   ///< w, of one number of k or v on the wire: 4 in float32, 2 in bf16
  double gradient_bytes;  ///< w_grad, of one number of dk or dv on the wire
  double query_heads;     ///< H
  double key_heads;       ///< Hkv <= H, heads of k and v; only these travel
  bool causal;            ///< a causal mask, evenly balanced: half of every block's scores are computed
};

/// Tokens a rank at which the work on a block takes as long as the hop meanwhile. Not rounded.
struct TokensToHide {
  double forward;
  double backward;
};

/// Task 1. From how many tokens a rank, n, the transfers hide, in the forward and in the backward pass: the n
/// at which the operations of one block, at F a second, take as long as the bytes of one hop, at B a second.
///   operations: the multiplications and the additions of a block's matrix products, n queries against n keys
///               in all query heads, and nothing else: of two products forward (lesson 04) and of five
///               backward (lesson 06). A causal mask leaves half of them.
///   bytes:      of everything that one rank sends in a step that has all of it, n tokens of each: K and V
///               forward, and K, V, dK and dV backward. A causal mask leaves all of them.
/// The head dimension is no part of the setup: it cancels.
/// Source: Liu et al. 2023 (arXiv 2310.01889), section 3.
TokensToHide tokens_to_hide(const Setup& setup);

/// Task 2. Attention of this rank's queries over the keys and values of all ranks of comm, with the transfers
/// behind the work. Queries stay; keys and values travel from rank to rank + 1, modulo P.
///
/// q, k, v, o [heads, n, head_dim] and lse [heads, n] are this rank's shard, n = shard_tokens[rank];
/// shard_tokens[r] is the number of tokens of rank r, known to everybody, unequal, perhaps 0.
///
/// Each block, this rank's own first, is given to block.accumulate once, with its owner's rank: after s hops
/// rank r holds the block of rank (r - s) mod P. While a block is computed, the next one is on its way:
///   - its transfer is started before accumulate, and completed after it, or earlier by a test in
///     between_tiles or by a thread of your own, which may also make the transfer with a blocking call. Such
///     a thread is started, and has work, before accumulate, and nobody waits for it until that is over;
///   - meanwhile calls make progress, those of the between_tiles that accumulate is given, or of a thread of
///     your own (MPI was initialised with MPI_THREAD_MULTIPLE). A call makes progress if it looks for what
///     may not be there yet: MPI_Test, MPI_Wait and their kind when one of their requests is open,
///     MPI_Request_get_status of an open request, MPI_Probe, MPI_Iprobe and their kind, a blocking send or
///     receive, a collective. Its peer is another rank, or MPI_ANY_SOURCE. A call that has nothing to look
///     for makes none, such as MPI_Testall of no requests or of null ones, MPI_Isend, MPI_Comm_rank, or
///     anything with MPI_PROC_NULL; a request that has completed is null, so test all that may be open. Where
///     a block has 8 tiles or more, between_tiles makes such a call often enough that no more than half of
///     the tiles in a row pass without;
///   - a buffer is not read, computed on or passed on before what is received into it has arrived, and not
///     written to before what is sent from it has been sent;
///   - every request is completed before the function returns.
/// block.finish then writes o and lse. P blocks of work, P - 1 hops. A message may be as long as its block or
/// padded to the largest shard's, keys and values together or apart. Uses comm, or a communicator made of it
/// (MPI_Comm_dup, MPI_Comm_split, MPI_Cart_create), and frees each communicator, group, datatype and
/// operation that it makes; no collective for keys, values or gradients (MPI_Ialltoallv, too, is one), and no
/// call whose bytes nobody counts (MPI_Win_..., MPI_Neighbor_..., MPI_Alltoallw). Memory for at most two more
/// blocks of keys and values, of the largest shard's size. Source: Liu et al. 2023 (arXiv 2310.01889),
/// algorithm 1.
void overlapped_ring_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                               course::HeadsView<const float> v, course::HeadsView<float> o,
                               course::MatrixView<float> lse, std::span<const int> shard_tokens,
                               const course::TiledBlockAttention& block, MPI_Comm comm);

/// Task 3. The gradients of task 2's o, in the same way. o and lse are what the forward pass returned, d_o
/// the gradient that arrives at o; q, k, v, o, d_o, dq, dk, dv [heads, n, head_dim], lse [heads, n]. What dq,
/// dk and dv hold beforehand is undefined.
///
/// block.accumulate adds one block's share to dq and to the dk and dv that it is given; it wants lse and
/// delta_i = o_i . d_o_i of the whole rows. Keys and values travel one block ahead of the work, P - 1 hops;
/// the sums dk and dv of a block follow it one block behind, from rank to rank + 1, and come home after P
/// hops (none for P = 1). While this rank computes its share in a block, that block's sum, to which the ranks
/// before have added, arrives in another buffer, and the sum of the block that it computed in the step before
/// is sent; after the work the arrived sum and the share are added. Only the last of these hops has no work
/// to hide behind. Everything that task 2 says of transfers holds for these, too. Memory for at most two more
/// blocks of keys and values and three of dk and dv, and one delta a head and query. Source: Liu et al. 2023,
/// section 3 (backward pass).
void overlapped_ring_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                              course::HeadsView<const float> v, course::HeadsView<const float> o,
                              course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
                              course::HeadsView<float> dq, course::HeadsView<float> dk,
                              course::HeadsView<float> dv, std::span<const int> shard_tokens,
                              const course::TiledBlockAttentionBackward& block, MPI_Comm comm);

}  // namespace lesson08
