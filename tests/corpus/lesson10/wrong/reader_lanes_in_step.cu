// wrong: each warp writes the weights of its own rows to shared memory and its lanes read each other's without anything that makes the lanes wait
// line: (left out) __syncwarp();
// mistake: barrier_missing
#include <cmath>
#include <stdexcept>
#include <string>

#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"

namespace lesson10 {

namespace {

// Four warps, 32 queries, 32 keys a tile. A warp has eight queries to itself, from their scores to their o:
// lane j computes the score of key j, and later has columns j, j + 32, ... of o.
constexpr unsigned kWarp = 0xffffffffu;
constexpr int kWarps = 4;
constexpr int kOwn = 8;
constexpr int kQueries = kWarps * kOwn;
constexpr int kKeys = 32;

template <int D>
struct Layout {
  static constexpr int row = D + 4;
  static constexpr int k = kQueries * row;
  static constexpr int v = k + kKeys * row;
  static constexpr int w = v + kKeys * D;
  static constexpr int end = w + kQueries * kKeys;
};

__global__ void divide_by_l(State state, float* lse) {
  const int i = blockIdx.x;
  const int at = i * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  if (state.l[i] > 0.f) {
    state.o[at] /= state.l[i];
    if (threadIdx.x == 0) lse[i] = state.m[i] + logf(state.l[i]);
  } else {
    state.o[at] = 0.f;
    if (threadIdx.x == 0) lse[i] = -INFINITY;
  }
}

template <int D>
__global__ void attend(const float* q, const float* k, const float* v, const int* first, const int* last,
                       State state, Shape shape) {
  using At = Layout<D>;
  extern __shared__ float4 room[];
  float* const qs = reinterpret_cast<float*>(room);
  float* const ks = qs + At::k;
  float* const vs = qs + At::v;

  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  float* const ws = qs + At::w + warp * kOwn * kKeys;    // this warp's

  const int head = blockIdx.y;
  const int query0 = static_cast<int>(blockIdx.x) * kQueries;
  q += head * shape.queries * D;
  k += head * shape.keys * D;
  v += head * shape.keys * D;
  float* const m_head = state.m + head * shape.queries;
  float* const l_head = state.l + head * shape.queries;
  float* const o_head = state.o + head * shape.queries * D;

  // A lane looks at one of the 32 queries, in each warp, and so each warp knows what all of them see.
  const int looked_at = query0 + lane;
  int a = 0;
  int b = 0;
  if (looked_at < shape.queries) {
    a = first ? max(first[looked_at], 0) : 0;
    b = first ? min(last[looked_at], shape.keys) : shape.keys;
  }
  int begin = a < b ? a : shape.keys;
  int end = a < b ? b : 0;
  for (int d = 16; d > 0; d /= 2) {
    begin = min(begin, __shfl_xor_sync(kWarp, begin, d));
    end = max(end, __shfl_xor_sync(kWarp, end, d));
  }
  if (begin >= end) return;

  for (int row = warp; row < kQueries; row += kWarps)
    for (int c = lane; c < D; c += 32)
      qs[row * At::row + c] = query0 + row < shape.queries ? q[(query0 + row) * D + c] : 0.f;

  float m[kOwn], l[kOwn], o[kOwn][D / 32];
  int from[kOwn], to[kOwn];
  for (int r = 0; r < kOwn; ++r) {
    // lane 8 warp + r has looked at this row's range already
    from[r] = __shfl_sync(kWarp, a, warp * kOwn + r);
    to[r] = __shfl_sync(kWarp, b, warp * kOwn + r);
    const int i = query0 + warp * kOwn + r;
    const bool real = i < shape.queries;
    m[r] = real ? m_head[i] : -INFINITY;
    l[r] = real ? l_head[i] : 0.f;
    for (int c = 0; c < D / 32; ++c) o[r][c] = real ? o_head[i * D + lane + 32 * c] : 0.f;
  }

  const float scale = 1.f / sqrtf(static_cast<float>(D));
  for (int key0 = begin / kKeys * kKeys; key0 < end; key0 += kKeys) {
    for (int row = warp; row < kKeys; row += kWarps) {
      const bool real = key0 + row < shape.keys;
      for (int c = lane; c < D; c += 32) {
        ks[row * At::row + c] = real ? k[(key0 + row) * D + c] : 0.f;
        vs[row * D + c] = real ? v[(key0 + row) * D + c] : 0.f;
      }
    }
    __syncthreads();

    for (int r = 0; r < kOwn; ++r) {
      const float* const query = qs + (warp * kOwn + r) * At::row;
      const float* const key = ks + lane * At::row;
      float s = 0.f;
      for (int c = 0; c < D; c += 4) {
        const float4 x = *reinterpret_cast<const float4*>(query + c);
        const float4 y = *reinterpret_cast<const float4*>(key + c);
        s += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
      }
      s *= scale;
      if (key0 + lane < from[r] || key0 + lane >= to[r]) s = -INFINITY;

      float top = s;
      for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(kWarp, top, d));
      const float m_new = fmaxf(m[r], top);
      const float base = m_new == -INFINITY ? 0.f : m_new;
      const float w = expf(s - base);
      ws[r * kKeys + lane] = w;

      float sum = w;
      for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(kWarp, sum, d);
      const float factor = expf(m[r] - base);
      l[r] = l[r] * factor + sum;
      for (int c = 0; c < D / 32; ++c) o[r][c] *= factor;
      m[r] = m_new;
    }

    // The weights are this warp's own, so nobody else has to wait for them.
    for (int j = 0; j < kKeys; j += 4) {
      for (int r = 0; r < kOwn; ++r) {
        const float4 w = *reinterpret_cast<const float4*>(ws + r * kKeys + j);
        for (int c = 0; c < D / 32; ++c) {
          const float* const x = vs + j * D + lane + 32 * c;
          o[r][c] += w.x * x[0] + w.y * x[D] + w.z * x[2 * D] + w.w * x[3 * D];
        }
      }
    }
    __syncthreads();
  }

  for (int r = 0; r < kOwn; ++r) {
    const int i = query0 + warp * kOwn + r;
    if (i >= shape.queries) return;
    for (int c = 0; c < D / 32; ++c) o_head[i * D + lane + 32 * c] = o[r][c];
    if (lane == 0) {
      m_head[i] = m[r];
      l_head[i] = l[r];
    }
  }
}

template <int D>
void launch(const float* q, const float* k, const float* v, const int* first, const int* last,
            const State& state, const Shape& shape, cudaStream_t stream) {
  const int bytes = Layout<D>::end * static_cast<int>(sizeof(float));
  course::cuda_check(cudaFuncSetAttribute(attend<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const dim3 grid((shape.queries + kQueries - 1) / kQueries, shape.heads);
  attend<D><<<grid, 32 * kWarps, bytes, stream>>>(q, k, v, first, last, state, shape);
  course::cuda_check(cudaGetLastError());
}

void attend_any(const float* q, const float* k, const float* v, const int* first, const int* last,
                const State& state, const Shape& shape, cudaStream_t stream) {
  if (shape.heads == 0 || shape.queries == 0 || shape.keys == 0) return;
  const int d = shape.head_dim;
  if (d != 32 && d != 64 && d != 128) throw std::runtime_error("head_dim is none of 32, 64, 128");
  if (d == 32) launch<32>(q, k, v, first, last, state, shape, stream);
  if (d == 64) launch<64>(q, k, v, first, last, state, shape, stream);
  if (d == 128) launch<128>(q, k, v, first, last, state, shape, stream);
}

}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  if (shape.heads == 0 || shape.queries == 0) return;
  divide_by_l<<<shape.heads * shape.queries, shape.head_dim, 0, stream>>>(state, lse);
  course::cuda_check(cudaGetLastError());
}

void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream) {
  attend_any(q, k, v, nullptr, nullptr, state, shape, stream);
}

void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  attend_any(q, k, v, range.first, range.last, state, shape, stream);
}

}  // namespace lesson10
