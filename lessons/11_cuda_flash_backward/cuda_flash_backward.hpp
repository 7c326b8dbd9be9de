#pragma once

#include <cuda_runtime.h>

namespace lesson11 {

struct Shape {
  int heads, queries, keys;
  int head_dim;  ///< 32, 64 or 128
};

/// The keys that each query sees: j with first[i] <= j < last[i], counted in the block; none where
/// first[i] >= last[i]. A range may begin before the block, end behind it, or lie on one side of it. Both
/// have `queries` entries in device memory, the same for every head.
struct KeyRange {
  const int* first;
  const int* last;
};

/// One block of keys and values and the queries that look at it, in device memory, row after row, each
/// tensor aligned to 16 bytes.
struct Block {
  const float* q;      ///< [heads, queries, head_dim]
  const float* k;      ///< [heads, keys, head_dim]
  const float* v;      ///< [heads, keys, head_dim]
  const float* d_o;    ///< [heads, queries, head_dim]: the gradient that arrives at o
  const float* lse;    ///< [heads, queries], of the scaled scores of the whole rows, over all blocks
  const float* delta;  ///< [heads, queries]: task 1's, less the gradient that arrives at lse, if any
  KeyRange range;
};

/// Task 1. delta_i = o_i . d_o_i for every row of o and d_o [heads, queries, head_dim]; delta [heads,
/// queries]. Does not look at shape.keys. All are in device memory; heads and queries may be 0. The kernel is
/// launched in `stream`; the function returns without waiting for it, allocates nothing, and throws
/// std::runtime_error when the launch is refused. Source: Dao et al. 2022, appendix B.
void row_delta(const float* o, const float* d_o, float* delta, const Shape& shape, cudaStream_t stream);

/// Task 2. Adds what one block gives to the gradients of its keys and values. With s_ij = q_i . k_j /
/// sqrt(head_dim), over the queries i that see key j,
///   p_ij = exp(s_ij - lse_i),  ds_ij = p_ij (d_o_i . v_j - delta_i),
///   dv_j += sum_i p_ij d_o_i,  dk_j += sum_i ds_ij q_i / sqrt(head_dim).
/// dk, dv [heads, keys, head_dim] in device memory, aligned as the block is. A query that sees no key of any
/// block has lse = -inf and an empty range; it adds nothing. Scores are finite. heads, queries and keys may
/// be 0 and need not be multiples of anything. p and ds are never written to device memory, and none of it is
/// allocated. For the rest as task 1. Source: Dao 2023 (FlashAttention-2), algorithm 2.
void add_key_gradients(const Block& block, float* dk, float* dv, const Shape& shape, cudaStream_t stream);

/// Task 3. The same, and what the block gives to the gradients of its queries:
///   dq_i += sum_j ds_ij k_j / sqrt(head_dim)
/// over the keys j that query i sees; dq [heads, queries, head_dim]. A ring calls this once a block.
void add_gradients(const Block& block, float* dq, float* dk, float* dv, const Shape& shape,
                   cudaStream_t stream);

}  // namespace lesson11
