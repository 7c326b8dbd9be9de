#pragma once

#include <span>

#include "ring/block_attention.hpp"
#include "ring/hop.hpp"  // yours to use: course::Ring, course::TravellingTensor
#include "tensor/view.hpp"

namespace lesson15 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

/// Task 1. The key head of query head `head`: heads / kv_heads consecutive query heads share one. Throws
/// std::invalid_argument that names both numbers unless kv_heads >= 1 divides heads.
/// Source: Ainslie et al. 2023 (arXiv 2305.13245); Shazeer 2019 for kv_heads = 1.
Index kv_head(Index head, Index heads, Index kv_heads);

/// Task 2. Lets every query see one block: s = scale q . k with the key of its key head. request.q [heads,
/// queries, key_dim]; request.k [kv_heads, keys, key_dim]; request.v [kv_heads, keys, value_dim]; state
/// [heads, queries, value_dim]. request.seen, bias and between_tiles are not set. k and v are read where they
/// lie: no copies for all query heads.
void attend_grouped(const course::BlockRequest& request, course::AttentionState& state);

/// Task 3. Adds what one block gives to dq [heads, queries, key_dim], dk [kv_heads, keys, key_dim] and
/// dv [kv_heads, keys, value_dim]. d_o [heads, queries, value_dim]; lse, delta [heads, queries] are of query
/// heads and whole rows, over all blocks: delta_i = o_i . d_o_i. A key head takes up the shares of all query
/// heads that share it.
void grouped_backward(const course::BlockRequest& request, HeadsView<const float> d_o,
                      MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                      HeadsView<float> dk, HeadsView<float> dv);

/// Task 4. Lesson 05's ring with q [heads, n, key_dim], k [kv_heads, n, key_dim] and v [kv_heads, n,
/// value_dim] of this rank; shard_tokens[r] tokens are rank r's. Writes o [heads, n, value_dim] and lse
/// [heads, n]. Each block (one without tokens need not be) is given to block.accumulate once, with its owner
/// and `scale`, and block.finish is called in the end. A hop brings kv_heads (key_dim + value_dim) numbers a
/// token, or those of the longest shard; at most P - 1 hops, and memory for two more blocks of that size.
void grouped_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                            HeadsView<float> o, MatrixView<float> lse, float scale,
                            std::span<const int> shard_tokens, const course::BlockForward& block,
                            MPI_Comm comm);

/// Task 5. Lesson 07's ring: the gradients dq, dk and dv of this rank's q, k and v, which are written, from
/// o, lse and d_o of the same rows. Keys and values make at most P - 1 hops, the sums dk and dv, of kv_heads
/// heads each, at most P. Memory for five more blocks.
void grouped_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                           HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv, float scale,
                           std::span<const int> shard_tokens, const course::BlockBackward& block,
                           MPI_Comm comm);

/// Task 6. Latent attention round the ring, keys absorbed into the queries. latent [1, n, latent_dim +
/// rope_dim]: row j is (c_j, r_j), the same for all heads. With q_nope [heads, n, nope_dim], q_rope [heads,
/// n, rope_dim], key_up [heads, nope_dim, latent_dim] and value_up [heads, value_dim, latent_dim], query i of
/// head h scores key j with
///   (q_nope_i . key_up_h c_j + q_rope_i . r_j) / sqrt(nope_dim + rope_dim),
/// and key j's value is value_up_h c_j. block.accumulate is given q of latent_dim + rope_dim numbers, the
/// latent rows as the one head of keys, and their first latent_dim columns as values. The latent travels as
/// ONE tensor, P - 1 hops; beside q, the state and its output in the latent's width, memory for two more
/// blocks. Writes o [heads, n, value_dim] and lse [heads, n]. Source: DeepSeek-V2 (arXiv 2405.04434),
/// section 2.1.
void latent_ring_attention(HeadsView<const float> q_nope, HeadsView<const float> q_rope,
                           HeadsView<const float> latent, HeadsView<const float> key_up,
                           HeadsView<const float> value_up, HeadsView<float> o, MatrixView<float> lse,
                           std::span<const int> shard_tokens, const course::BlockForward& block,
                           MPI_Comm comm);

/// Task 7. One block's gradients of latent attention: request.q [heads, queries, latent_dim + rope_dim] is
/// absorbed, request.k the latent rows, request.v their first latent_dim columns; d_o [heads, queries,
/// latent_dim] is what arrives there. Adds to dq, of the shape of request.q, and to d_latent, of the shape of
/// request.k, all that the block gives: as keys and as values. block.accumulate adds to dq, dk and dv.
void latent_block_backward(const course::BlockRequest& request, HeadsView<const float> d_o,
                           MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                           HeadsView<float> d_latent, const course::BlockBackward& block);

}  // namespace lesson15
