// wrong: the first tile of keys begins at a multiple of 32, but the number of tiles is counted from the first key that is seen, so the last keys of a window can be left out
// line: const int tiles = (hi - lo + kKeys - 1) / kKeys;
// rating: led
#include <cmath>
#include <stdexcept>
#include <string>

#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"

namespace lesson10 {

namespace {

constexpr int kQueries = 64;        // queries of a block of threads
constexpr int kKeys = 32;           // keys of a tile
constexpr int kThreads = 128;
constexpr int kRows = 8;            // rows that half a warp works on
constexpr int kWeightRow = kKeys + 4;
constexpr unsigned kAll = 0xffffffffu;

__global__ void finish_row(State state, float* lse, int head_dim) {
  const int row = blockIdx.x;
  const int entry = row * head_dim + static_cast<int>(threadIdx.x);
  const float l = state.l[row];
  if (l > 0.f)
    state.o[entry] /= l;
  else
    state.o[entry] = 0.f;
  if (threadIdx.x == 0) lse[row] = l > 0.f ? state.m[row] + logf(l) : -INFINITY;
}

// Copies `wanted` rows into a tile with padded rows; those from `existing` on become zeros.
template <int D>
__device__ void load_rows(float* tile, const float* rows, int existing, int wanted) {
  constexpr int pieces = D / 4;
  for (int i = threadIdx.x; i < wanted * pieces; i += kThreads) {
    const int r = i / pieces;
    const int c = i % pieces * 4;
    float4 x = make_float4(0.f, 0.f, 0.f, 0.f);
    if (r < existing) x = *reinterpret_cast<const float4*>(rows + r * D + c);
    *reinterpret_cast<float4*>(tile + r * (D + 4) + c) = x;
  }
}

// range.first is null where every query sees every key.
template <int D>
__global__ void attend(const float* q, const float* k, const float* v, KeyRange range, State state,
                       Shape shape) {
  extern __shared__ float4 room[];
  float* q_tile = reinterpret_cast<float*>(room);
  float* kv_tile = q_tile + kQueries * (D + 4);
  float* weights = kv_tile + kKeys * (D + 4);

  const int head = blockIdx.y;
  const int q0 = static_cast<int>(blockIdx.x) * kQueries;
  const int q_rows = min(kQueries, shape.queries - q0);

  // The keys that some query of this tile sees.
  int lo = 0;
  int hi = shape.keys;
  if (range.first != nullptr) {
    lo = shape.keys;
    hi = 0;
    for (int i = q0; i < q0 + q_rows; ++i) {
      const int a = max(range.first[i], 0);
      const int b = min(range.last[i], shape.keys);
      if (a < b) {
        lo = min(lo, a);
        hi = max(hi, b);
      }
    }
  }
  if (lo >= hi) return;

  load_rows<D>(q_tile, q + (head * shape.queries + q0) * D, q_rows, kQueries);

  const int t = static_cast<int>(threadIdx.x) % 16;
  const int row0 = static_cast<int>(threadIdx.x) / 16 * kRows;
  float m[kRows], l[kRows], o[kRows][D / 16];
  int from[kRows], to[kRows];
  for (int r = 0; r < kRows; ++r) {
    const int i = q0 + row0 + r;
    const int g = head * shape.queries + i;
    const bool exists = row0 + r < q_rows;
    m[r] = exists ? state.m[g] : -INFINITY;
    l[r] = exists ? state.l[g] : 0.f;
    for (int c = 0; c < D / 16; ++c) o[r][c] = exists ? state.o[g * D + t + 16 * c] : 0.f;
    from[r] = 0;
    to[r] = shape.keys;
    if (range.first != nullptr) {
      from[r] = exists ? max(range.first[i], 0) : 0;
      to[r] = exists ? min(range.last[i], shape.keys) : 0;
    }
  }

  const float scale = 1.f / sqrtf(static_cast<float>(D));
  const int begin = lo / kKeys * kKeys;
  const int tiles = (hi - lo + kKeys - 1) / kKeys;
  for (int tile = 0; tile < tiles; ++tile) {
    const int key0 = begin + tile * kKeys;
    const int k_rows = min(kKeys, shape.keys - key0);
    load_rows<D>(kv_tile, k + (head * shape.keys + key0) * D, k_rows, kKeys);
    __syncthreads();

    float s[kRows][2] = {};
    for (int c = 0; c < D; c += 4) {
      const float4 k_a = *reinterpret_cast<const float4*>(kv_tile + t * (D + 4) + c);
      const float4 k_b = *reinterpret_cast<const float4*>(kv_tile + (t + 16) * (D + 4) + c);
      for (int r = 0; r < kRows; ++r) {
        const float4 x = *reinterpret_cast<const float4*>(q_tile + (row0 + r) * (D + 4) + c);
        s[r][0] += x.x * k_a.x + x.y * k_a.y + x.z * k_a.z + x.w * k_a.w;
        s[r][1] += x.x * k_b.x + x.y * k_b.y + x.z * k_b.z + x.w * k_b.w;
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < 2; ++c) {
        const int key = key0 + t + 16 * c;
        s[r][c] = key >= from[r] && key < to[r] ? s[r][c] * scale : -INFINITY;
      }
    }
    __syncthreads();

    load_rows<D>(kv_tile, v + (head * shape.keys + key0) * D, k_rows, kKeys);
    for (int r = 0; r < kRows; ++r) {
      float top = fmaxf(s[r][0], s[r][1]);
      for (int distance = 8; distance > 0; distance /= 2)
        top = fmaxf(top, __shfl_xor_sync(kAll, top, distance));
      top = fmaxf(top, m[r]);
      const float base = top == -INFINITY ? 0.f : top;
      const float factor = expf(m[r] - base);
      m[r] = top;
      float sum = 0.f;
      for (int c = 0; c < 2; ++c) {
        const float w = expf(s[r][c] - base);
        weights[(row0 + r) * kWeightRow + t + 16 * c] = w;
        sum += w;
      }
      for (int distance = 8; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAll, sum, distance);
      l[r] = l[r] * factor + sum;
      for (int c = 0; c < D / 16; ++c) o[r][c] *= factor;
    }
    __syncthreads();

    for (int j = 0; j < kKeys; j += 4) {
      float4 w[kRows];
      for (int r = 0; r < kRows; ++r)
        w[r] = *reinterpret_cast<const float4*>(weights + (row0 + r) * kWeightRow + j);
      for (int c = 0; c < D / 16; ++c) {
        const float* column = kv_tile + j * (D + 4) + t + 16 * c;
        const float v0 = column[0];
        const float v1 = column[D + 4];
        const float v2 = column[2 * (D + 4)];
        const float v3 = column[3 * (D + 4)];
        for (int r = 0; r < kRows; ++r) o[r][c] += w[r].x * v0 + w[r].y * v1 + w[r].z * v2 + w[r].w * v3;
      }
    }
    __syncthreads();
  }

  for (int r = 0; r < kRows; ++r) {
    if (row0 + r >= q_rows) continue;
    const int g = head * shape.queries + q0 + row0 + r;
    if (t == 0) {
      state.m[g] = m[r];
      state.l[g] = l[r];
    }
    for (int c = 0; c < D / 16; ++c) state.o[g * D + t + 16 * c] = o[r][c];
  }
}

template <int D>
void launch(const float* q, const float* k, const float* v, KeyRange range, State state, Shape shape,
            cudaStream_t stream) {
  const int bytes = static_cast<int>(sizeof(float)) * ((kQueries + kKeys) * (D + 4) + kQueries * kWeightRow);
  course::cuda_check(cudaFuncSetAttribute(attend<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const dim3 grid((shape.queries + kQueries - 1) / kQueries, shape.heads);
  attend<D><<<grid, kThreads, bytes, stream>>>(q, k, v, range, state, shape);
  course::cuda_check(cudaGetLastError());
}

void launch_any(const float* q, const float* k, const float* v, KeyRange range, State state, Shape shape,
                cudaStream_t stream) {
  if (shape.heads == 0 || shape.queries == 0 || shape.keys == 0) return;
  if (shape.head_dim == 32)
    launch<32>(q, k, v, range, state, shape, stream);
  else if (shape.head_dim == 64)
    launch<64>(q, k, v, range, state, shape, stream);
  else if (shape.head_dim == 128)
    launch<128>(q, k, v, range, state, shape, stream);
  else
    throw std::runtime_error("head_dim is " + std::to_string(shape.head_dim));
}

}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  const int rows = shape.heads * shape.queries;
  if (rows == 0) return;
  finish_row<<<rows, shape.head_dim, 0, stream>>>(state, lse, shape.head_dim);
  course::cuda_check(cudaGetLastError());
}

void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream) {
  launch_any(q, k, v, KeyRange{nullptr, nullptr}, state, shape, stream);
}

void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  launch_any(q, k, v, range, state, shape, stream);
}

}  // namespace lesson10
