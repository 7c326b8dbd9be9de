// wrong: one lane of a row reads its m and l and hands them to the others by a shuffle, but the shuffle takes lane 0 of the whole warp also for the rows of the second half warp
// line: return __shfl_sync(kFull, x, 0);
// rating: not led
#include <cmath>
#include <stdexcept>
#include <string>

#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"

namespace lesson10 {

namespace {

constexpr unsigned kFull = 0xffffffffu;
constexpr int kTileQ = 64;
constexpr int kTileK = 32;
constexpr int kThreads = 256;
constexpr int kLanes = 16;                             // lanes that share their rows
constexpr int kRows = kTileQ / (kThreads / kLanes);    // 4
constexpr int kCols = kTileK / kLanes;                 // 2

// What the first of the lanes that share a row holds.
__device__ float of_first_lane(float x) {
  return __shfl_sync(kFull, x, 0);
}

__device__ float row_max(float x) {
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) x = fmaxf(x, __shfl_xor_sync(kFull, x, lanes));
  return x;
}

__device__ float row_sum(float x) {
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) x += __shfl_xor_sync(kFull, x, lanes);
  return x;
}

template <int D>
__device__ void load(float* tile, const float* global, int rows, int valid) {
  const int tid = threadIdx.x;
  for (int at = 4 * tid; at < rows * D; at += 4 * kThreads) {
    const int row = at / D;
    const int col = at - row * D;
    float4 x = {0.f, 0.f, 0.f, 0.f};
    if (row < valid) x = *reinterpret_cast<const float4*>(global + at);
    *reinterpret_cast<float4*>(tile + row * (D + 4) + col) = x;
  }
}

struct Sight {
  int begin, end;
};

__device__ Sight sight_of(const KeyRange& range, int query, int keys) {
  if (range.first == nullptr) return {0, keys};
  const int begin = max(range.first[query], 0);
  const int end = min(range.last[query], keys);
  return {begin, end};
}

template <int D>
__global__ void attend(const float* q, const float* k, const float* v, KeyRange range, State state,
                       Shape shape) {
  extern __shared__ float4 room[];
  float* qs = reinterpret_cast<float*>(room);
  float* kvs = qs + kTileQ * (D + 4);
  float* ps = kvs + kTileK * (D + 4);
  constexpr int p_row = kTileK + 4;

  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int row0 = static_cast<int>(threadIdx.x) / kLanes * kRows;
  const int head = blockIdx.x;
  const int tile0 = static_cast<int>(blockIdx.y) * kTileQ;
  const int valid = min(kTileQ, shape.queries - tile0);
  const int top_row = head * shape.queries + tile0;

  Sight all = {shape.keys, 0};
  for (int r = 0; r < valid; ++r) {
    const Sight one = sight_of(range, tile0 + r, shape.keys);
    if (one.begin < one.end) {
      all.begin = min(all.begin, one.begin);
      all.end = max(all.end, one.end);
    }
  }
  if (all.begin >= all.end) return;

  load<D>(qs, q + top_row * D, kTileQ, valid);

  float m[kRows], l[kRows];
  float o[kRows][D / kLanes];
  Sight sight[kRows];
  for (int r = 0; r < kRows; ++r) {
    const bool there = row0 + r < valid;
    m[r] = -INFINITY;
    l[r] = 0.f;
    if (there && lane == 0) {
      m[r] = state.m[top_row + row0 + r];
      l[r] = state.l[top_row + row0 + r];
    }
    m[r] = of_first_lane(m[r]);
    l[r] = of_first_lane(l[r]);
    sight[r] = {0, 0};
    if (there) sight[r] = sight_of(range, tile0 + row0 + r, shape.keys);
    for (int c = 0; c < D / kLanes; ++c)
      o[r][c] = there ? state.o[(top_row + row0 + r) * D + lane + c * kLanes] : 0.f;
  }

  const float scale = 1.f / sqrtf(static_cast<float>(D));
  const int head_row = head * shape.keys;
  for (int key0 = all.begin; key0 < all.end; key0 += kTileK) {
    const int valid_keys = min(kTileK, shape.keys - key0);
    load<D>(kvs, k + (head_row + key0) * D, kTileK, valid_keys);
    __syncthreads();

    float s[kRows][kCols];
    for (int r = 0; r < kRows; ++r) {
      const float4* a = reinterpret_cast<const float4*>(qs + (row0 + r) * (D + 4));
      for (int c = 0; c < kCols; ++c) {
        const float4* b = reinterpret_cast<const float4*>(kvs + (lane + c * kLanes) * (D + 4));
        float dot = 0.f;
        for (int x = 0; x < D / 4; ++x)
          dot += a[x].x * b[x].x + a[x].y * b[x].y + a[x].z * b[x].z + a[x].w * b[x].w;
        const int key = key0 + lane + c * kLanes;
        s[r][c] = key < sight[r].begin || key >= sight[r].end ? -INFINITY : dot * scale;
      }
    }
    __syncthreads();

    load<D>(kvs, v + (head_row + key0) * D, kTileK, valid_keys);
    for (int r = 0; r < kRows; ++r) {
      const float m_new = fmaxf(m[r], row_max(fmaxf(s[r][0], s[r][1])));
      float factor = 1.f;
      float p0 = 0.f;
      float p1 = 0.f;
      if (m_new != -INFINITY) {
        factor = expf(m[r] - m_new);
        p0 = expf(s[r][0] - m_new);
        p1 = expf(s[r][1] - m_new);
      }
      l[r] = l[r] * factor + row_sum(p0 + p1);
      m[r] = m_new;
      for (int c = 0; c < D / kLanes; ++c) o[r][c] *= factor;
      ps[(row0 + r) * p_row + lane] = p0;
      ps[(row0 + r) * p_row + lane + kLanes] = p1;
    }
    __syncthreads();

    for (int j = 0; j < kTileK; ++j)
      for (int c = 0; c < D / kLanes; ++c) {
        const float x = kvs[j * (D + 4) + lane + c * kLanes];
        for (int r = 0; r < kRows; ++r) o[r][c] += ps[(row0 + r) * p_row + j] * x;
      }
    __syncthreads();
  }

  for (int r = 0; r < kRows && row0 + r < valid; ++r) {
    const int row = top_row + row0 + r;
    if (lane == 0) state.m[row] = m[r];
    if (lane == 0) state.l[row] = l[r];
    for (int c = 0; c < D / kLanes; ++c) state.o[row * D + lane + c * kLanes] = o[r][c];
  }
}

template <int D>
void attend_d(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
              const Shape& shape, cudaStream_t stream) {
  const int floats = (kTileQ + kTileK) * (D + 4) + kTileQ * (kTileK + 4);
  const int bytes = floats * static_cast<int>(sizeof(float));
  course::cuda_check(cudaFuncSetAttribute(attend<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const dim3 grid(shape.heads, (shape.queries + kTileQ - 1) / kTileQ);
  attend<D><<<grid, kThreads, bytes, stream>>>(q, k, v, range, state, shape);
  course::cuda_check(cudaGetLastError());
}

void attend_all(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                const Shape& shape, cudaStream_t stream) {
  const bool empty = shape.heads == 0 || shape.queries == 0 || shape.keys == 0;
  if (empty) return;
  if (shape.head_dim == 32) attend_d<32>(q, k, v, range, state, shape, stream);
  if (shape.head_dim == 64) attend_d<64>(q, k, v, range, state, shape, stream);
  if (shape.head_dim == 128) attend_d<128>(q, k, v, range, state, shape, stream);
}

// A warp a query, as in lesson 09.
__global__ void finish_warp(State state, float* lse, int rows, int head_dim) {
  const int row = static_cast<int>(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
  if (row >= rows) return;
  const float l = state.l[row];
  for (int c = static_cast<int>(threadIdx.x) % 32; c < head_dim; c += 32) {
    const float x = state.o[row * head_dim + c];
    state.o[row * head_dim + c] = l > 0.f ? x / l : 0.f;
  }
  if (threadIdx.x % 32 == 0) {
    if (l > 0.f)
      lse[row] = state.m[row] + logf(l);
    else
      lse[row] = -INFINITY;
  }
}

}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  const int rows = shape.heads * shape.queries;
  if (rows == 0) return;
  const int warps = 8;
  finish_warp<<<(rows + warps - 1) / warps, 32 * warps, 0, stream>>>(state, lse, rows, shape.head_dim);
  course::cuda_check(cudaGetLastError());
}

void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream) {
  attend_all(q, k, v, KeyRange{nullptr, nullptr}, state, shape, stream);
}

void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  attend_all(q, k, v, range, state, shape, stream);
}

}  // namespace lesson10
