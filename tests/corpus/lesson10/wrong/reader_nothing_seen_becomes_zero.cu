// wrong: where a row has seen nothing yet, 0 is not only subtracted in place of its maximum but also kept as its maximum
// line: if (m_new == -INFINITY) m_new = 0.f;
// mistake: m_starts_at_zero
// rating: led
#include <cmath>
#include <stdexcept>
#include <string>

#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"

namespace lesson10 {

namespace {

// Four neighbouring threads share one query. Of the 32 keys of a tile thread x of the four takes x, x + 4, ...,
// and of the columns of o the pieces x, x + 4, ... of four columns each.
constexpr int block_queries = 64;
constexpr int tile_keys = 32;
constexpr int block_threads = 4 * block_queries;
constexpr int keys_a_thread = tile_keys / 4;
constexpr unsigned all_lanes = 0xffffffffu;

__device__ float max_of_four(float x) {
  x = fmaxf(x, __shfl_xor_sync(all_lanes, x, 2));
  return fmaxf(x, __shfl_xor_sync(all_lanes, x, 1));
}

__device__ float sum_of_four(float x) {
  x += __shfl_xor_sync(all_lanes, x, 2);
  return x + __shfl_xor_sync(all_lanes, x, 1);
}

__device__ float4 nothing() {
  return make_float4(0.f, 0.f, 0.f, 0.f);
}

__global__ void finish_kernel(State state, float* lse, int head_dim) {
  const int row = blockIdx.x;
  const float l = state.l[row];
  const bool seen = l > 0.f;
  float* o = state.o + row * head_dim;
  o[threadIdx.x] = seen ? o[threadIdx.x] / l : 0.f;
  if (threadIdx.x == 0) lse[row] = seen ? logf(l) + state.m[row] : -INFINITY;
}

/// With `range` null every query sees every key.
template <int D>
__global__ void attend(const float* q, const float* k, const float* v, KeyRange range, State state,
                       Shape shape) {
  constexpr int pieces = D / 4;         // of a row
  constexpr int stride = pieces + 1;    // of a row of queries or keys in shared memory
  constexpr int mine = pieces / 4;      // pieces of o a thread
  extern __shared__ float4 room[];
  float4* q_room = room;
  float4* k_room = q_room + block_queries * stride;
  float4* v_room = k_room + tile_keys * stride;
  float* w_room = reinterpret_cast<float*>(v_room + tile_keys * pieces);

  const int row = static_cast<int>(threadIdx.x) / 4;
  const int x = static_cast<int>(threadIdx.x) % 4;
  const int query0 = static_cast<int>(blockIdx.x) * block_queries;
  const int query = query0 + row;
  const bool exists = query < shape.queries;
  const int head_queries = static_cast<int>(blockIdx.y) * shape.queries;
  const int head_keys = static_cast<int>(blockIdx.y) * shape.keys;
  const float4* q4 = reinterpret_cast<const float4*>(q) + head_queries * pieces;
  const float4* k4 = reinterpret_cast<const float4*>(k) + head_keys * pieces;
  const float4* v4 = reinterpret_cast<const float4*>(v) + head_keys * pieces;

  int begin = 0;
  int end = shape.keys;
  if (range.first != nullptr) {
    int least = shape.keys;
    int most = 0;
    const int stop = min(query0 + block_queries, shape.queries);
    for (int i = query0; i < stop; ++i) {
      const int f = max(range.first[i], 0);
      const int e = min(range.last[i], shape.keys);
      if (f < e) {
        least = min(least, f);
        most = max(most, e);
      }
    }
    begin = least;
    end = most;
  }
  if (begin >= end) return;

  int row_first = 0;
  int row_last = exists ? shape.keys : 0;
  if (exists && range.first != nullptr) {
    row_first = max(range.first[query], 0);
    row_last = min(range.last[query], shape.keys);
  }

  for (int i = threadIdx.x; i < block_queries * pieces; i += block_threads) {
    const int r = i / pieces;
    const int c = i % pieces;
    q_room[r * stride + c] = query0 + r < shape.queries ? q4[(query0 + r) * pieces + c] : nothing();
  }

  float m = -INFINITY;
  float l = 0.f;
  float4 o[mine];
  float4* o_state = reinterpret_cast<float4*>(state.o) + (head_queries + query) * pieces;
  for (int c = 0; c < mine; ++c) o[c] = nothing();
  if (exists) {
    m = state.m[head_queries + query];
    l = state.l[head_queries + query];
    for (int c = 0; c < mine; ++c) o[c] = o_state[x + 4 * c];
  }

  const float scale = 1.f / sqrtf(static_cast<float>(D));
  for (int key0 = begin; key0 < end; key0 += tile_keys) {
    for (int i = threadIdx.x; i < tile_keys * pieces; i += block_threads) {
      const int r = i / pieces;
      const int c = i % pieces;
      const bool there = key0 + r < shape.keys;
      k_room[r * stride + c] = there ? k4[(key0 + r) * pieces + c] : nothing();
      v_room[r * pieces + c] = there ? v4[(key0 + r) * pieces + c] : nothing();
    }
    __syncthreads();

    float s[keys_a_thread];
    for (int j = 0; j < keys_a_thread; ++j) s[j] = 0.f;
    for (int c = 0; c < pieces; ++c) {
      const float4 a = q_room[row * stride + c];
      for (int j = 0; j < keys_a_thread; ++j) {
        const float4 b = k_room[(x + 4 * j) * stride + c];
        s[j] = s[j] + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
      }
    }

    float m_new = m;
    for (int j = 0; j < keys_a_thread; ++j) {
      const int key = key0 + x + 4 * j;
      const bool seen = row_first <= key && key < row_last;
      s[j] = seen ? s[j] * scale : -INFINITY;
      m_new = fmaxf(m_new, s[j]);
    }
    m_new = max_of_four(m_new);
    // Nothing seen yet: -inf - (-inf) would be NaN, with 0 all weights and the factor are 0.
    if (m_new == -INFINITY) m_new = 0.f;

    const float factor = expf(m - m_new);
    float sum = 0.f;
    for (int j = 0; j < keys_a_thread; ++j) {
      const float w = expf(s[j] - m_new);
      w_room[row * tile_keys + x + 4 * j] = w;
      sum += w;
    }
    l = l * factor + sum_of_four(sum);
    m = m_new;
    for (int c = 0; c < mine; ++c) {
      o[c].x *= factor;
      o[c].y *= factor;
      o[c].z *= factor;
      o[c].w *= factor;
    }
    __syncthreads();

    for (int j = 0; j < tile_keys; ++j) {
      const float w = w_room[row * tile_keys + j];
      for (int c = 0; c < mine; ++c) {
        const float4 value = v_room[j * pieces + x + 4 * c];
        o[c].x += w * value.x;
        o[c].y += w * value.y;
        o[c].z += w * value.z;
        o[c].w += w * value.w;
      }
    }
    __syncthreads();
  }

  if (!exists) return;
  for (int c = 0; c < mine; ++c) o_state[x + 4 * c] = o[c];
  if (x == 0) {
    state.m[head_queries + query] = m;
    state.l[head_queries + query] = l;
  }
}

template <int D>
void launch(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
            const Shape& shape, cudaStream_t stream) {
  const int floats =
      (block_queries + tile_keys) * (D + 4) + tile_keys * D + block_queries * tile_keys;
  const int bytes = 4 * floats;
  course::cuda_check(cudaFuncSetAttribute(attend<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const dim3 grid((shape.queries + block_queries - 1) / block_queries, shape.heads);
  attend<D><<<grid, block_threads, bytes, stream>>>(q, k, v, range, state, shape);
  course::cuda_check(cudaGetLastError());
}

}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  if (shape.heads == 0 || shape.queries == 0) return;
  finish_kernel<<<shape.heads * shape.queries, shape.head_dim, 0, stream>>>(state, lse, shape.head_dim);
  course::cuda_check(cudaGetLastError());
}

void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream) {
  KeyRange everything;
  everything.first = nullptr;
  everything.last = nullptr;
  attend_range(q, k, v, everything, state, shape, stream);
}

void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  if (shape.heads == 0 || shape.queries == 0 || shape.keys == 0) return;
  switch (shape.head_dim) {
    case 32: return launch<32>(q, k, v, range, state, shape, stream);
    case 64: return launch<64>(q, k, v, range, state, shape, stream);
    case 128: return launch<128>(q, k, v, range, state, shape, stream);
  }
  throw std::runtime_error("attend: a head_dim without a kernel");
}

}  // namespace lesson10
