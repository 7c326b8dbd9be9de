// wrong: a tile of keys goes without comparisons where it lies within what some query sees, and not only where all queries see all of it
// line: const bool whole = key0 >= lo && key0 + BK <= hi;
// rating: led
#include <climits>
#include <cmath>
#include <stdexcept>
#include <string>

#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"

namespace lesson10 {

namespace {

// 16 x 16 threads. Thread (ty, tx) has the 4 x 4 scores of rows 4 ty ... 4 ty + 3 and keys tx, tx + 16, ...
constexpr int BQ = 64;
constexpr int BK = 64;
constexpr int TX = 16;
constexpr int TY = 16;
constexpr int RPT = BQ / TY;
constexpr int CPT = BK / TX;
constexpr int PS = BK + 4;

__global__ void finish_kernel(float* o, const float* m, const float* l, float* lse) {
  const unsigned row = blockIdx.y * gridDim.x + blockIdx.x;
  const float sum = l[row];
  float* mine = o + row * blockDim.x + threadIdx.x;
  *mine = sum == 0.f ? 0.f : *mine / sum;
  if (threadIdx.x == 0) lse[row] = sum == 0.f ? -INFINITY : m[row] + logf(sum);
}

template <int D>
__device__ void fetch(float* to, const float* from, int rows) {
  const int tid = threadIdx.x;
  for (int i = tid; i < 64 * (D / 4); i += TX * TY) {
    const int row = i / (D / 4);
    const int col = 4 * (i % (D / 4));
    float4 piece = make_float4(0.f, 0.f, 0.f, 0.f);
    if (row < rows) piece = *reinterpret_cast<const float4*>(from + row * D + col);
    *reinterpret_cast<float4*>(to + row * (D + 4) + col) = piece;
  }
}

template <int D>
__global__ void attention(const float* __restrict__ q, const float* __restrict__ k,
                          const float* __restrict__ v, const int* __restrict__ first,
                          const int* __restrict__ last, float* m_state, float* l_state, float* o_state,
                          int queries, int keys) {
  extern __shared__ float4 room[];
  float* Qs = reinterpret_cast<float*>(room);
  float* KVs = Qs + BQ * (D + 4);
  float* Ps = KVs + BK * (D + 4);
  __shared__ int seen_lo;
  __shared__ int seen_hi;

  const int tid = threadIdx.x;
  const int tx = tid % TX;
  const int ty = tid / TX;
  const int head = blockIdx.y;
  const int q0 = static_cast<int>(blockIdx.x) * BQ;
  const int rows = min(BQ, queries - q0);

  if (tid == 0) {
    seen_lo = first ? INT_MAX : 0;
    seen_hi = first ? 0 : keys;
  }
  __syncthreads();
  if (first && tid < rows) {
    const int a = max(first[q0 + tid], 0);
    const int b = min(last[q0 + tid], keys);
    if (a < b) {
      atomicMin(&seen_lo, a);
      atomicMax(&seen_hi, b);
    }
  }
  __syncthreads();
  const int lo = seen_lo;
  const int hi = seen_hi;
  if (lo >= hi) return;

  fetch<D>(Qs, q + (head * queries + q0) * D, rows);

  float m[RPT], l[RPT], acc[RPT][D / TX];
  int begin[RPT], end[RPT];
  for (int i = 0; i < RPT; ++i) {
    const int row = RPT * ty + i;
    begin[i] = 0;
    end[i] = keys;
    m[i] = -INFINITY;
    l[i] = 0.f;
    for (int c = 0; c < D / TX; ++c) acc[i][c] = 0.f;
    if (row < rows) {
      const int index = head * queries + q0 + row;
      m[i] = m_state[index];
      l[i] = l_state[index];
      for (int c = 0; c < D / TX; ++c) acc[i][c] = o_state[index * D + tx + TX * c];
      if (first) {
        begin[i] = max(first[q0 + row], 0);
        end[i] = min(last[q0 + row], keys);
      }
    }
  }

  const float scale = 1.f / sqrtf(static_cast<float>(D));
  for (int key0 = lo - lo % BK; key0 < hi; key0 += BK) {
    fetch<D>(KVs, k + (head * keys + key0) * D, keys - key0);
    __syncthreads();

    float s[RPT][CPT] = {};
    for (int d = 0; d < D; d += 4) {
      float4 a[RPT];
      for (int i = 0; i < RPT; ++i)
        a[i] = *reinterpret_cast<const float4*>(Qs + (RPT * ty + i) * (D + 4) + d);
      for (int j = 0; j < CPT; ++j) {
        const float4 b = *reinterpret_cast<const float4*>(KVs + (tx + TX * j) * (D + 4) + d);
        for (int i = 0; i < RPT; ++i) {
          s[i][j] += a[i].x * b.x;
          s[i][j] += a[i].y * b.y;
          s[i][j] += a[i].z * b.z;
          s[i][j] += a[i].w * b.w;
        }
      }
    }

    // Most tiles are seen whole and need no mask.
    const bool whole = key0 >= lo && key0 + BK <= hi;
    for (int i = 0; i < RPT; ++i) {
      for (int j = 0; j < CPT; ++j) {
        s[i][j] *= scale;
        if (!whole) {
          const int key = key0 + tx + TX * j;
          if (key < begin[i] || key >= end[i]) s[i][j] = -INFINITY;
        }
      }
    }
    __syncthreads();

    fetch<D>(KVs, v + (head * keys + key0) * D, keys - key0);
    for (int i = 0; i < RPT; ++i) {
      float biggest = m[i];
      for (int j = 0; j < CPT; ++j) biggest = fmaxf(biggest, s[i][j]);
      biggest = fmaxf(biggest, __shfl_xor_sync(0xffffffffu, biggest, 8));
      biggest = fmaxf(biggest, __shfl_xor_sync(0xffffffffu, biggest, 4));
      biggest = fmaxf(biggest, __shfl_xor_sync(0xffffffffu, biggest, 2));
      biggest = fmaxf(biggest, __shfl_xor_sync(0xffffffffu, biggest, 1));
      const float ref = isinf(biggest) ? 0.f : biggest;
      const float correction = expf(m[i] - ref);
      m[i] = biggest;

      float total = 0.f;
      for (int j = 0; j < CPT; ++j) {
        s[i][j] = expf(s[i][j] - ref);
        total += s[i][j];
        Ps[(RPT * ty + i) * PS + tx + TX * j] = s[i][j];
      }
      total += __shfl_xor_sync(0xffffffffu, total, 8);
      total += __shfl_xor_sync(0xffffffffu, total, 4);
      total += __shfl_xor_sync(0xffffffffu, total, 2);
      total += __shfl_xor_sync(0xffffffffu, total, 1);
      l[i] = correction * l[i] + total;
      for (int c = 0; c < D / TX; ++c) acc[i][c] *= correction;
    }
    __syncthreads();

    for (int j = 0; j < BK; ++j) {
      float p[RPT];
      for (int i = 0; i < RPT; ++i) p[i] = Ps[(RPT * ty + i) * PS + j];
      for (int c = 0; c < D / TX; ++c) {
        const float value = KVs[j * (D + 4) + tx + TX * c];
        for (int i = 0; i < RPT; ++i) acc[i][c] += p[i] * value;
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < RPT; ++i) {
    const int row = RPT * ty + i;
    if (row < rows) {
      const int index = head * queries + q0 + row;
      if (tx == 0) {
        m_state[index] = m[i];
        l_state[index] = l[i];
      }
      for (int c = 0; c < D / TX; ++c) o_state[index * D + tx + TX * c] = acc[i][c];
    }
  }
}

template <int D>
void run(const float* q, const float* k, const float* v, const int* first, const int* last,
         const State& state, const Shape& shape, cudaStream_t stream) {
  constexpr int floats = (BQ + BK) * (D + 4) + BQ * PS;
  constexpr int bytes = 4 * floats;
  course::cuda_check(
      cudaFuncSetAttribute(attention<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const dim3 grid((shape.queries + BQ - 1) / BQ, shape.heads);
  attention<D><<<grid, TX * TY, bytes, stream>>>(q, k, v, first, last, state.m, state.l, state.o,
                                                 shape.queries, shape.keys);
  course::cuda_check(cudaGetLastError());
}

void dispatch(const float* q, const float* k, const float* v, const int* first, const int* last,
              const State& state, const Shape& shape, cudaStream_t stream) {
  if (shape.heads == 0 || shape.queries == 0 || shape.keys == 0) return;
  switch (shape.head_dim) {
    case 32: run<32>(q, k, v, first, last, state, shape, stream); break;
    case 64: run<64>(q, k, v, first, last, state, shape, stream); break;
    case 128: run<128>(q, k, v, first, last, state, shape, stream); break;
    default: throw std::runtime_error("no kernel for this head_dim");
  }
}

}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  if (shape.heads == 0 || shape.queries == 0) return;
  const dim3 grid(shape.queries, shape.heads);
  finish_kernel<<<grid, shape.head_dim, 0, stream>>>(state.o, state.m, state.l, lse);
  course::cuda_check(cudaGetLastError());
}

void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream) {
  dispatch(q, k, v, nullptr, nullptr, state, shape, stream);
}

void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  dispatch(q, k, v, range.first, range.last, state, shape, stream);
}

}  // namespace lesson10
