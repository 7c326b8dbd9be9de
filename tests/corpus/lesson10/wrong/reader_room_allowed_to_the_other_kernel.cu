// wrong: more than 48 KiB of shared memory are allowed to the kernel without ranges only, so with head_dim 128 the launch of the kernel with ranges is refused
// line: course::cuda_check(cudaFuncSetAttribute(attend<D, false>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
// mistake: shared_memory_not_allowed
#include <cmath>
#include <stdexcept>
#include <string>

#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"

namespace lesson10 {

namespace {

constexpr int queries_per_block = 64;
constexpr int keys_per_tile = 32;
constexpr int threads_per_block = 128;
constexpr int groups = threads_per_block / 16;                // 16 threads share the rows of a group
constexpr int rows_per_group = queries_per_block / groups;    // 8 rows: group, group + 8, group + 16, ...
constexpr int padding = 4;
constexpr int weight_stride = keys_per_tile + padding;

template <int D>
__device__ void copy_tile(float* destination, const float* source, int rows_there, int rows_of_tile) {
  // D / 4 pieces of 16 bytes a row.
  const int piece = static_cast<int>(threadIdx.x) % (D / 4);
  const int step = threads_per_block / (D / 4);
  for (int row = static_cast<int>(threadIdx.x) / (D / 4); row < rows_of_tile; row += step) {
    float4* to = reinterpret_cast<float4*>(destination + row * (D + padding)) + piece;
    if (row < rows_there)
      *to = reinterpret_cast<const float4*>(source + row * D)[piece];
    else
      *to = make_float4(0.f, 0.f, 0.f, 0.f);
  }
}

__device__ float dot4(float4 a, float4 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

template <int D, bool RANGED>
__global__ void attend(const float* q, const float* k, const float* v, KeyRange range, State state,
                       Shape shape) {
  extern __shared__ float4 room[];
  float* const tile_q = reinterpret_cast<float*>(room);
  float* const tile_kv = tile_q + queries_per_block * (D + padding);
  float* const tile_w = tile_kv + keys_per_tile * (D + padding);

  const int group = static_cast<int>(threadIdx.x) / 16;
  const int t = static_cast<int>(threadIdx.x) % 16;
  const int first_query = static_cast<int>(blockIdx.x) * queries_per_block;
  const int queries_here = min(queries_per_block, shape.queries - first_query);
  const int head = blockIdx.y;
  q += (head * shape.queries + first_query) * D;
  k += head * shape.keys * D;
  v += head * shape.keys * D;

  int tile_begin = 0;
  int tile_end = shape.keys;
  if (RANGED) {
    tile_begin = shape.keys;
    tile_end = 0;
    for (int i = 0; i < queries_here; ++i) {
      const int begin = max(0, range.first[first_query + i]);
      const int end = min(shape.keys, range.last[first_query + i]);
      if (begin >= end) continue;
      tile_begin = min(tile_begin, begin);
      tile_end = max(tile_end, end);
    }
    if (tile_begin >= tile_end) return;
    tile_begin = tile_begin / keys_per_tile * keys_per_tile;
  }

  copy_tile<D>(tile_q, q, queries_here, queries_per_block);

  float m[rows_per_group];
  float l[rows_per_group];
  float2 o[rows_per_group][D / 32];    // columns 2 t + 32 c and the next
  int row_begin[rows_per_group];
  int row_end[rows_per_group];
  for (int r = 0; r < rows_per_group; ++r) {
    const int row = group + groups * r;
    if (row < queries_here) {
      const int index = head * shape.queries + first_query + row;
      m[r] = state.m[index];
      l[r] = state.l[index];
      for (int c = 0; c < D / 32; ++c)
        o[r][c] = *reinterpret_cast<const float2*>(state.o + index * D + 2 * t + 32 * c);
      row_begin[r] = RANGED ? range.first[first_query + row] : 0;
      row_end[r] = RANGED ? min(range.last[first_query + row], shape.keys) : shape.keys;
    } else {
      m[r] = -INFINITY;
      l[r] = 0.f;
      for (int c = 0; c < D / 32; ++c) o[r][c] = make_float2(0.f, 0.f);
      row_begin[r] = 0;
      row_end[r] = 0;
    }
  }

  const float root = 1.f / sqrtf(static_cast<float>(D));
  for (int start = tile_begin; start < tile_end; start += keys_per_tile) {
    copy_tile<D>(tile_kv, k + start * D, shape.keys - start, keys_per_tile);
    __syncthreads();    // queries and keys are there

    float2 s[rows_per_group];    // keys 2 t and 2 t + 1 of the tile
    for (int r = 0; r < rows_per_group; ++r) s[r] = make_float2(0.f, 0.f);
    for (int c = 0; c < D; c += 4) {
      const float4 key_0 = *reinterpret_cast<const float4*>(&tile_kv[(2 * t) * (D + padding) + c]);
      const float4 key_1 = *reinterpret_cast<const float4*>(&tile_kv[(2 * t + 1) * (D + padding) + c]);
      for (int r = 0; r < rows_per_group; ++r) {
        const float4 query =
            *reinterpret_cast<const float4*>(&tile_q[(group + groups * r) * (D + padding) + c]);
        s[r].x += dot4(query, key_0);
        s[r].y += dot4(query, key_1);
      }
    }
    __syncthreads();    // the keys have been read

    copy_tile<D>(tile_kv, v + start * D, shape.keys - start, keys_per_tile);
    const int key = start + 2 * t;
    for (int r = 0; r < rows_per_group; ++r) {
      s[r].x = row_begin[r] <= key && key < row_end[r] ? s[r].x * root : -INFINITY;
      s[r].y = row_begin[r] <= key + 1 && key + 1 < row_end[r] ? s[r].y * root : -INFINITY;

      float largest = fmaxf(m[r], fmaxf(s[r].x, s[r].y));
      for (int by = 1; by < 16; by *= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, by));
      const float subtract = largest > -INFINITY ? largest : 0.f;
      const float2 w = make_float2(expf(s[r].x - subtract), expf(s[r].y - subtract));
      float sum = w.x + w.y;
      for (int by = 1; by < 16; by *= 2) sum += __shfl_xor_sync(0xffffffff, sum, by);

      const float rescale = expf(m[r] - subtract);
      m[r] = largest;
      l[r] = l[r] * rescale + sum;
      for (int c = 0; c < D / 32; ++c) {
        o[r][c].x *= rescale;
        o[r][c].y *= rescale;
      }
      *reinterpret_cast<float2*>(&tile_w[(group + groups * r) * weight_stride + 2 * t]) = w;
    }
    __syncthreads();    // values and weights are there

    for (int j = 0; j < keys_per_tile; ++j) {
      for (int c = 0; c < D / 32; ++c) {
        const float2 value =
            *reinterpret_cast<const float2*>(&tile_kv[j * (D + padding) + 2 * t + 32 * c]);
        for (int r = 0; r < rows_per_group; ++r) {
          const float w = tile_w[(group + groups * r) * weight_stride + j];
          o[r][c].x += w * value.x;
          o[r][c].y += w * value.y;
        }
      }
    }
    __syncthreads();    // values and weights have been read
  }

  for (int r = 0; r < rows_per_group; ++r) {
    const int row = group + groups * r;
    if (row >= queries_here) continue;
    const int index = head * shape.queries + first_query + row;
    for (int c = 0; c < D / 32; ++c)
      *reinterpret_cast<float2*>(state.o + index * D + 2 * t + 32 * c) = o[r][c];
    if (t != 0) continue;
    state.m[index] = m[r];
    state.l[index] = l[r];
  }
}

template <int D, bool RANGED>
void launch(const float* q, const float* k, const float* v, KeyRange range, const State& state,
            const Shape& shape, cudaStream_t stream) {
  const int floats =
      (queries_per_block + keys_per_tile) * (D + padding) + queries_per_block * weight_stride;
  const int bytes = floats * static_cast<int>(sizeof(float));
  // Up to 48 KiB need no leave.
  if (bytes > 48 * 1024) {
    course::cuda_check(cudaFuncSetAttribute(attend<D, false>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  }
  const int tiles = (shape.queries + queries_per_block - 1) / queries_per_block;
  const dim3 grid(tiles, shape.heads);
  attend<D, RANGED><<<grid, threads_per_block, bytes, stream>>>(q, k, v, range, state, shape);
  course::cuda_check(cudaGetLastError());
}

template <bool RANGED>
void launch_for_head_dim(const float* q, const float* k, const float* v, KeyRange range, const State& state,
                         const Shape& shape, cudaStream_t stream) {
  if (shape.heads == 0 || shape.queries == 0 || shape.keys == 0) return;
  if (shape.head_dim == 32) return launch<32, RANGED>(q, k, v, range, state, shape, stream);
  if (shape.head_dim == 64) return launch<64, RANGED>(q, k, v, range, state, shape, stream);
  if (shape.head_dim == 128) return launch<128, RANGED>(q, k, v, range, state, shape, stream);
  throw std::runtime_error("attend: head_dim " + std::to_string(shape.head_dim));
}

__global__ void normalise(State state, float* lse, int columns) {
  const int i = blockIdx.x;
  const float l = state.l[i];
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    float* entry = state.o + i * columns + c;
    *entry = l > 0.f ? *entry / l : 0.f;
  }
  if (threadIdx.x != 0) return;
  lse[i] = l > 0.f ? state.m[i] + logf(l) : -INFINITY;
}

}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  const int all_queries = shape.heads * shape.queries;
  if (all_queries > 0) {
    normalise<<<all_queries, 64, 0, stream>>>(state, lse, shape.head_dim);
    course::cuda_check(cudaGetLastError());
  }
}

void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream) {
  const KeyRange none = {nullptr, nullptr};
  launch_for_head_dim<false>(q, k, v, none, state, shape, stream);
}

void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  launch_for_head_dim<true>(q, k, v, range, state, shape, stream);
}

}  // namespace lesson10
