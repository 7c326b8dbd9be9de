#pragma once

#include <cuda_runtime.h>

/// The block computation that a graded ring on a device is handed: attention by its definition, a block of
/// threads for each row and a thread for each column. Heads follow one another, so that row / queries is the
/// row's head.
namespace course::plain_blocks {

/// A rank's queries, and how many keys a block has. With positions, in device memory, a query sees the keys
/// at its own position and before; without, all.
struct Extents {
  int queries, keys, head_dim;
  float scale;
  const int* query_positions = nullptr;
  const int* key_positions = nullptr;
};

/// Of a row and a key of any head.
inline __device__ bool is_seen(const Extents& of, int row, int key) {
  return of.query_positions == nullptr ||
         of.key_positions[key % of.keys] <= of.query_positions[row % of.queries];
}

inline __device__ float dot(const float* a, const float* b, int count) {
  float sum = 0.0f;
  for (int c = 0; c < count; ++c) sum += a[c] * b[c];
  return sum;
}

/// A block of threads for each query, a thread for each column. Each thread goes over all scores twice: for
/// the largest, and for the weights.
static __global__ void see_block(const float* q, const float* k, const float* v, float* m, float* l, float* o,
                                 Extents of) {
  const int row = blockIdx.x, first_key = row / of.queries * of.keys, col = threadIdx.x;
  const auto score = [&](int j) {
    return is_seen(of, row, j) ? of.scale * dot(q + row * of.head_dim, k + j * of.head_dim, of.head_dim)
                               : -INFINITY;
  };
  float largest = m[row];
  for (int j = first_key; j < first_key + of.keys; ++j) largest = fmaxf(largest, score(j));
  if (largest == -INFINITY) return;  // all threads of the row, which has seen nothing yet
  const float before = expf(m[row] - largest);
  float sum = before * l[row], out = before * o[row * of.head_dim + col];
  for (int j = first_key; j < first_key + of.keys; ++j) {
    const float weight = expf(score(j) - largest);
    sum += weight;
    out += weight * v[j * of.head_dim + col];
  }
  o[row * of.head_dim + col] = out;
  __syncthreads();
  if (col > 0) return;
  m[row] = largest;
  l[row] = sum;
}

static __global__ void finish_rows(const float* m, const float* l, float* o, float* lse, int head_dim) {
  const int row = blockIdx.x, col = threadIdx.x;
  o[row * head_dim + col] = l[row] > 0.0f ? o[row * head_dim + col] / l[row] : 0.0f;
  if (col == 0) lse[row] = m[row] + logf(l[row]);
}

/// The inputs of the backward pass that stay.
struct Rows {
  const float *q, *d_o, *lse, *delta;
};

/// The gradient of a score, and its weight.
inline __device__ float2 score_gradient(const Rows& rows, const float* k, const float* v, int row, int key,
                                        const Extents& of) {
  if (!is_seen(of, row, key)) return {0.0f, 0.0f};
  const int d = of.head_dim;
  const float weight = expf(of.scale * dot(rows.q + row * d, k + key * d, d) - rows.lse[row]);
  return {of.scale * weight * (dot(rows.d_o + row * d, v + key * d, d) - rows.delta[row]), weight};
}

static __global__ void add_to_dq(Rows rows, const float* k, const float* v, float* dq, Extents of) {
  const int row = blockIdx.x, first_key = row / of.queries * of.keys, col = threadIdx.x;
  float sum = dq[row * of.head_dim + col];
  for (int j = first_key; j < first_key + of.keys; ++j)
    sum += score_gradient(rows, k, v, row, j, of).x * k[j * of.head_dim + col];
  dq[row * of.head_dim + col] = sum;
}

static __global__ void add_to_dk_and_dv(Rows rows, const float* k, const float* v, float* dk, float* dv,
                                        Extents of) {
  const int key = blockIdx.x, first_row = key / of.keys * of.queries, col = threadIdx.x;
  float sum_k = dk[key * of.head_dim + col], sum_v = dv[key * of.head_dim + col];
  for (int row = first_row; row < first_row + of.queries; ++row) {
    const float2 gradient = score_gradient(rows, k, v, row, key, of);
    sum_k += gradient.x * rows.q[row * of.head_dim + col];
    sum_v += gradient.y * rows.d_o[row * of.head_dim + col];
  }
  dk[key * of.head_dim + col] = sum_k;
  dv[key * of.head_dim + col] = sum_v;
}

}  // namespace course::plain_blocks
