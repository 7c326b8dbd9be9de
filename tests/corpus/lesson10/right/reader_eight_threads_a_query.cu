// right: eight threads share a query by its columns and take the keys one at a time, so there are no tiles of scores or weights, and no -inf is ever subtracted from -inf
#include <cmath>
#include <stdexcept>
#include <string>

#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"

namespace lesson10 {

namespace {

constexpr int kShare = 8;                          // threads a query
constexpr int kQueries = 32;                       // a block
constexpr int kBlock = kShare * kQueries;
constexpr int kKeys = 32;                          // a tile

template <int D, bool HasRange>
__global__ void stream_keys(const float* q, const float* k, const float* v, const int* first,
                            const int* last, float* m_state, float* l_state, float* o_state, int queries,
                            int keys) {
  constexpr int row4 = D / 4;              // float4s of a row
  constexpr int own4 = row4 / kShare;      // of which a thread has 1, 2 or 4
  __shared__ float4 key_tile[kKeys * row4];
  __shared__ float4 value_tile[kKeys * row4];
  __shared__ int block_begin;
  __shared__ int block_end;

  const int share = static_cast<int>(threadIdx.x) % kShare;
  const int query0 = static_cast<int>(blockIdx.x) * kQueries;
  const int query = query0 + static_cast<int>(threadIdx.x) / kShare;
  const int head = static_cast<int>(blockIdx.y);
  const bool exists = query < queries;

  // One thread asks all queries of the block which keys they see, and tells the others.
  if (threadIdx.x == 0) {
    int begin = HasRange ? keys : 0;
    int end = HasRange ? 0 : keys;
    if (HasRange) {
      for (int i = query0; i < query0 + kQueries && i < queries; ++i) {
        const int f = first[i] < 0 ? 0 : first[i];
        const int e = last[i] > keys ? keys : last[i];
        if (f >= e) continue;
        if (f < begin) begin = f;
        if (e > end) end = e;
      }
    }
    block_begin = begin;
    block_end = end;
  }
  __syncthreads();
  const int begin = block_begin;
  const int end = block_end;
  if (begin >= end) return;

  int seen_from = 0;
  int seen_to = 0;
  float m = -INFINITY;
  float l = 0.f;
  float4 a[own4];
  float4 o[own4];
  float4* o_row = reinterpret_cast<float4*>(o_state) + (head * queries + query) * row4;
  for (int c = 0; c < own4; ++c) a[c] = o[c] = make_float4(0.f, 0.f, 0.f, 0.f);
  if (exists) {
    const float4* q_row = reinterpret_cast<const float4*>(q) + (head * queries + query) * row4;
    const float scale = 1.f / sqrtf(static_cast<float>(D));
    for (int c = 0; c < own4; ++c) {
      const float4 x = q_row[share + kShare * c];
      a[c] = make_float4(scale * x.x, scale * x.y, scale * x.z, scale * x.w);
      o[c] = o_row[share + kShare * c];
    }
    m = m_state[head * queries + query];
    l = l_state[head * queries + query];
    seen_from = HasRange ? first[query] : 0;
    seen_to = HasRange ? last[query] : keys;
  }

  const float4* k_head = reinterpret_cast<const float4*>(k) + head * keys * row4;
  const float4* v_head = reinterpret_cast<const float4*>(v) + head * keys * row4;
  for (int key0 = begin; key0 < end; key0 += kKeys) {
    const int count = min(kKeys, end - key0);
    for (int x = static_cast<int>(threadIdx.x); x < count * row4; x += kBlock) {
      key_tile[x] = k_head[key0 * row4 + x];
      value_tile[x] = v_head[key0 * row4 + x];
    }
    __syncthreads();

    for (int j = 0; j < count; ++j) {
      float s = 0.f;
      for (int c = 0; c < own4; ++c) {
        const float4 b = key_tile[j * row4 + share + kShare * c];
        s += a[c].x * b.x + a[c].y * b.y + a[c].z * b.z + a[c].w * b.w;
      }
      // All lanes come here, whether their query sees this key or not.
      s += __shfl_xor_sync(0xffffffffu, s, 4);
      s += __shfl_xor_sync(0xffffffffu, s, 2);
      s += __shfl_xor_sync(0xffffffffu, s, 1);

      const int key = key0 + j;
      if (key < seen_from || key >= seen_to) continue;
      if (s > m) {
        const float factor = expf(m - s);
        m = s;
        l *= factor;
        for (int c = 0; c < own4; ++c)
          o[c] = make_float4(factor * o[c].x, factor * o[c].y, factor * o[c].z, factor * o[c].w);
      }
      const float w = expf(s - m);
      l += w;
      for (int c = 0; c < own4; ++c) {
        const float4 b = value_tile[j * row4 + share + kShare * c];
        o[c].x += w * b.x;
        o[c].y += w * b.y;
        o[c].z += w * b.z;
        o[c].w += w * b.w;
      }
    }
    __syncthreads();
  }

  if (exists) {
    for (int c = 0; c < own4; ++c) o_row[share + kShare * c] = o[c];
    if (share == 0) {
      m_state[head * queries + query] = m;
      l_state[head * queries + query] = l;
    }
  }
}

template <int D, bool HasRange>
void launch(const float* q, const float* k, const float* v, const int* first, const int* last,
            const State& state, const Shape& shape, cudaStream_t stream) {
  const dim3 grid((shape.queries + kQueries - 1) / kQueries, shape.heads);
  stream_keys<D, HasRange><<<grid, kBlock, 0, stream>>>(q, k, v, first, last, state.m, state.l, state.o,
                                                        shape.queries, shape.keys);
  course::cuda_check(cudaGetLastError());
}

bool nothing_to_do(const Shape& shape) {
  return shape.heads == 0 || shape.queries == 0 || shape.keys == 0;
}

__global__ void last_division(State state, float* lse, int head_dim) {
  const int row = static_cast<int>(blockIdx.y * gridDim.x + blockIdx.x);
  const int at = row * head_dim + static_cast<int>(threadIdx.x);
  const float l = state.l[row];
  if (l == 0.f) {
    state.o[at] = 0.f;
  } else {
    state.o[at] /= l;
  }
  if (threadIdx.x == 0) lse[row] = l == 0.f ? -INFINITY : state.m[row] + logf(l);
}

}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  if (shape.heads == 0 || shape.queries == 0) return;
  const dim3 grid(shape.queries, shape.heads);
  last_division<<<grid, shape.head_dim, 0, stream>>>(state, lse, shape.head_dim);
  course::cuda_check(cudaGetLastError());
}

void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream) {
  if (nothing_to_do(shape)) return;
  switch (shape.head_dim) {
    case 32: launch<32, false>(q, k, v, nullptr, nullptr, state, shape, stream); break;
    case 64: launch<64, false>(q, k, v, nullptr, nullptr, state, shape, stream); break;
    case 128: launch<128, false>(q, k, v, nullptr, nullptr, state, shape, stream); break;
    default: throw std::runtime_error("head_dim " + std::to_string(shape.head_dim));
  }
}

void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  if (nothing_to_do(shape)) return;
  switch (shape.head_dim) {
    case 32: launch<32, true>(q, k, v, range.first, range.last, state, shape, stream); break;
    case 64: launch<64, true>(q, k, v, range.first, range.last, state, shape, stream); break;
    case 128: launch<128, true>(q, k, v, range.first, range.last, state, shape, stream); break;
    default: throw std::runtime_error("head_dim " + std::to_string(shape.head_dim));
  }
}

}  // namespace lesson10
