#pragma once

#include <cuda_runtime.h>

namespace lesson10 {

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

/// What the queries have seen so far, in device memory: m and l [heads, queries], o [heads, queries,
/// head_dim], unnormalised, as in lesson 04. A query that has seen nothing has m = -inf, l = 0, o = 0.
struct State {
  float* m;
  float* l;
  float* o;
};

/// Task 1. After the last block: divides o_i by l_i where it lies, and writes lse_i = m_i + log l_i into lse
/// [heads, queries]. A query that has seen nothing gets zeros and -inf. heads and queries may be 0.
/// Tensors are in device memory, aligned to 16 bytes, row after row. The kernel is launched in `stream`; the
/// function returns without waiting for it, allocates nothing, and throws std::runtime_error when the launch
/// is refused.
void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream);

/// Task 2. Lets every query see one block of keys and values, and updates the state: with
/// s_ij = q_i . k_j / sqrt(head_dim),
///   m_i' = max(m_i, max_j s_ij),  l_i' = l_i exp(m_i - m_i') + sum_j exp(s_ij - m_i'),
///   o_i' = o_i exp(m_i - m_i') + sum_j exp(s_ij - m_i') v_j.
/// q [heads, queries, head_dim]; k, v [heads, keys, head_dim]. heads, queries and keys may be 0, and need not
/// be multiples of anything; a block without keys changes nothing. Another m_i', with l_i' and o_i' to match,
/// is as right. Scores are finite, and never written to device memory. For the rest as task 1.
/// Source: Dao 2023 (FlashAttention-2), algorithm 1.
void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream);

/// Task 3. The same for queries that see a range of keys each. Keys that no query sees need not be read.
void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream);

}  // namespace lesson10
