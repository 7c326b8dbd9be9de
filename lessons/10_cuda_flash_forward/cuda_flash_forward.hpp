#pragma once

#include <cuda_runtime.h>

namespace lesson10 {

struct Shape {
  int heads, queries, keys;
  int head_dim;  ///< 32, 64 or 128
};

/// The keys that each query sees, counted in the whole block: first[i] <= j < last[i]; none where
/// first[i] >= last[i]. Both have `queries` entries in device memory, the same for every head.
struct KeyRange {
  const int* first;
  const int* last;
};

/// What the queries have seen so far, in device memory: m and l [heads, queries], O [heads, queries,
/// head_dim], as in lesson 04. A query that has seen nothing has m = -inf, l = 0, O = 0.
struct State {
  float* m;
  float* l;
  float* o;
};

/// Task 1. Writes o_i = O_i / l_i over O and lse_i = m_i + log l_i into lse [heads, queries]; a query that
/// has seen nothing gets zeros and -inf.
void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream);

/// Task 2. Lets every query see one block of keys and values: with s_ij = q_i . k_j / sqrt(head_dim), over
/// the keys j in the query's range,
///   m_i' = max(m_i, max_j s_ij),  l_i' = l_i exp(m_i - m_i') + sum_j exp(s_ij - m_i'),
///   O_i' = O_i exp(m_i - m_i') + sum_j exp(s_ij - m_i') v_j.
/// q [heads, queries, head_dim]; k, v [heads, keys, head_dim], in device memory, row after row, aligned to 16
/// bytes. Either of queries and keys may be 0, and neither need be a multiple of anything. Scores are never
/// written to device memory. The kernel is launched in `stream`; the function returns without waiting for it.
/// Source: Dao 2023 (FlashAttention-2), algorithm 1.
void attend_block(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream);

}  // namespace lesson10
