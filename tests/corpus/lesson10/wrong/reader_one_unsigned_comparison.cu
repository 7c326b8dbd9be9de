// wrong: whether a key lies in a range is asked with one unsigned comparison, and an empty range whose end lies before its beginning then has a huge length
// line: const bool seen = static_cast<unsigned>(key - from) < static_cast<unsigned>(to - from);
// rating: led
#include <cmath>
#include <stdexcept>
#include <string>

#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"

namespace lesson10 {

namespace {

// A warp takes eight queries, and a lane takes one key of the tile. What a lane knows of its key, the others get
// by shuffles, so no weights lie in shared memory.
constexpr unsigned full_warp = 0xffffffffu;
constexpr int warps = 8;
constexpr int rows_of_warp = 8;
constexpr int tile_q = warps * rows_of_warp;
constexpr int tile_k = 32;

__device__ float warp_max(float x) {
  for (int d = 16; d >= 1; d >>= 1) x = fmaxf(x, __shfl_xor_sync(full_warp, x, d));
  return x;
}

__device__ float warp_sum(float x) {
  for (int d = 16; d >= 1; d >>= 1) x += __shfl_xor_sync(full_warp, x, d);
  return x;
}

__global__ void divide(State state, float* lse, int rows, int head_dim) {
  const int row = static_cast<int>(blockIdx.x) * 4 + static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  const float l = state.l[row];
  const float inverse = l > 0.f ? 1.f / l : 0.f;
  for (int c = lane; c < head_dim; c += 32) state.o[row * head_dim + c] *= inverse;
  if (lane == 0) lse[row] = l > 0.f ? state.m[row] + logf(l) : -INFINITY;
}

template <int D>
constexpr int floats_needed = tile_q * D + tile_k * (D + 4) + tile_k * D;

template <int D, bool with_range>
__global__ void flash(const float* q, const float* k, const float* v, const int* first, const int* last,
                      State state, Shape shape) {
  extern __shared__ float4 room[];
  __shared__ int from_of[tile_q];
  __shared__ int to_of[tile_q];
  float* qs = reinterpret_cast<float*>(room);
  float* ks = qs + tile_q * D;
  float* vs = ks + tile_k * (D + 4);

  const int tid = threadIdx.x;
  const int warp = tid / 32;
  const int lane = tid % 32;
  const int head = blockIdx.y;
  const int query0 = static_cast<int>(blockIdx.x) * tile_q;

  if (tid < tile_q) {
    const int i = query0 + tid;
    int from = 0;
    int to = 0;
    if (i < shape.queries) {
      from = with_range ? max(first[i], 0) : 0;
      to = with_range ? min(last[i], shape.keys) : shape.keys;
    }
    from_of[tid] = from;
    to_of[tid] = to;
  }
  __syncthreads();

  int lowest = shape.keys;
  int highest = 0;
  for (int i = 0; i < tile_q; ++i) {
    if (from_of[i] >= to_of[i]) continue;
    lowest = min(lowest, from_of[i]);
    highest = max(highest, to_of[i]);
  }
  if (lowest >= highest) return;

  for (int x = tid; x < tile_q * D; x += warps * 32) {
    const int i = query0 + x / D;
    qs[x] = i < shape.queries ? q[(head * shape.queries + i) * D + x % D] : 0.f;
  }

  float m[rows_of_warp], l[rows_of_warp], acc[rows_of_warp][D / 32];
  for (int r = 0; r < rows_of_warp; ++r) {
    const int i = query0 + warp * rows_of_warp + r;
    m[r] = -INFINITY;
    l[r] = 0.f;
    for (int c = 0; c < D / 32; ++c) acc[r][c] = 0.f;
    if (i < shape.queries) {
      const int at = head * shape.queries + i;
      m[r] = state.m[at];
      l[r] = state.l[at];
      for (int c = 0; c < D / 32; ++c) acc[r][c] = state.o[at * D + lane + 32 * c];
    }
  }

  const float scale = 1.f / sqrtf(static_cast<float>(D));
  for (int key0 = lowest / tile_k * tile_k; key0 < highest; key0 += tile_k) {
    for (int x = tid; x < tile_k * D; x += warps * 32) {
      const int j = x / D;
      const int c = x % D;
      const int at = (head * shape.keys + key0 + j) * D + c;
      const bool exists = key0 + j < shape.keys;
      ks[j * (D + 4) + c] = exists ? k[at] : 0.f;
      vs[j * D + c] = exists ? v[at] : 0.f;
    }
    __syncthreads();

    const int key = key0 + lane;
    float p[rows_of_warp];
    for (int r = 0; r < rows_of_warp; ++r) {
      const int row = warp * rows_of_warp + r;
      float dot = 0.f;
      for (int c = 0; c < D; c += 4) {
        const float4 a = *reinterpret_cast<const float4*>(qs + row * D + c);
        const float4 b = *reinterpret_cast<const float4*>(ks + lane * (D + 4) + c);
        dot += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
      }
      const int from = from_of[row];
      const int to = to_of[row];
      const bool seen = static_cast<unsigned>(key - from) < static_cast<unsigned>(to - from);
      const float s = seen ? dot * scale : -INFINITY;

      const float m_new = fmaxf(m[r], warp_max(s));
      const float shift = m_new == -INFINITY ? 0.f : m_new;
      const float alpha = expf(m[r] - shift);
      p[r] = expf(s - shift);
      l[r] = l[r] * alpha + warp_sum(p[r]);
      m[r] = m_new;
      for (int c = 0; c < D / 32; ++c) acc[r][c] *= alpha;
    }

    for (int j = 0; j < tile_k; ++j) {
      float value[D / 32];
      for (int c = 0; c < D / 32; ++c) value[c] = vs[j * D + lane + 32 * c];
      for (int r = 0; r < rows_of_warp; ++r) {
        const float w = __shfl_sync(full_warp, p[r], j);
        for (int c = 0; c < D / 32; ++c) acc[r][c] += w * value[c];
      }
    }
    __syncthreads();
  }

  for (int r = 0; r < rows_of_warp; ++r) {
    const int i = query0 + warp * rows_of_warp + r;
    if (i >= shape.queries) break;
    const int at = head * shape.queries + i;
    for (int c = 0; c < D / 32; ++c) state.o[at * D + lane + 32 * c] = acc[r][c];
    if (lane == 0) {
      state.m[at] = m[r];
      state.l[at] = l[r];
    }
  }
}

template <int D, bool with_range>
void start(const float* q, const float* k, const float* v, const int* first, const int* last,
           const State& state, const Shape& shape, cudaStream_t stream) {
  const int bytes = floats_needed<D> * static_cast<int>(sizeof(float));
  course::cuda_check(
      cudaFuncSetAttribute(flash<D, with_range>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const dim3 grid((shape.queries + tile_q - 1) / tile_q, shape.heads);
  flash<D, with_range><<<grid, warps * 32, bytes, stream>>>(q, k, v, first, last, state, shape);
  course::cuda_check(cudaGetLastError());
}

template <bool with_range>
void choose(const float* q, const float* k, const float* v, const int* first, const int* last,
            const State& state, const Shape& shape, cudaStream_t stream) {
  if (shape.heads <= 0 || shape.queries <= 0 || shape.keys <= 0) return;
  switch (shape.head_dim) {
    case 32: return start<32, with_range>(q, k, v, first, last, state, shape, stream);
    case 64: return start<64, with_range>(q, k, v, first, last, state, shape, stream);
    case 128: return start<128, with_range>(q, k, v, first, last, state, shape, stream);
    default: throw std::invalid_argument("head_dim has to be 32, 64 or 128");
  }
}

}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  const int rows = shape.heads * shape.queries;
  if (rows == 0) return;
  divide<<<(rows + 3) / 4, 128, 0, stream>>>(state, lse, rows, shape.head_dim);
  course::cuda_check(cudaGetLastError());
}

void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream) {
  choose<false>(q, k, v, nullptr, nullptr, state, shape, stream);
}

void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  choose<true>(q, k, v, range.first, range.last, state, shape, stream);
}

}  // namespace lesson10
