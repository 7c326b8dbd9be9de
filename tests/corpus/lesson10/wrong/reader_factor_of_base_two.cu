// wrong: the weights are powers of 2 of a difference times log2(e), but the factor of l and o is a power of 2 of the plain difference
// line: const float factor = exp2f(m - m_new);
// rating: led
#include <cmath>
#include <stdexcept>
#include <string>

#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"

namespace lesson10 {

namespace {

// One thread for each query. The block shares its keys and values, everything else is the thread's own.

constexpr int Br = 64;
constexpr int Bc = 32;
constexpr float log2e = 1.4426950408889634f;

template <int D>
__global__ void flash_fwd(const float4* q, const float4* k, const float4* v, const int* first,
                          const int* last, float* m_global, float* l_global, float4* o_global, int n_q,
                          int n_k) {
  constexpr int D4 = D / 4;
  __shared__ float4 k_tile[Bc * D4];
  __shared__ float4 v_tile[Bc * D4];
  __shared__ int lo_of_warp[Br / 32];
  __shared__ int hi_of_warp[Br / 32];

  const int tid = threadIdx.x;
  const int head = blockIdx.y;
  const int i = static_cast<int>(blockIdx.x) * Br + tid;
  const bool active = i < n_q;

  // Keys begin <= j < end are seen by this thread's query, lo <= j < hi by some query of the block.
  int begin = 0;
  int end = n_k;
  if (!active) end = 0;
  if (active && first != nullptr) {
    begin = max(first[i], 0);
    end = min(last[i], n_k);
  }
  int lo = begin < end ? begin : n_k;
  int hi = begin < end ? end : 0;
  for (int step = 16; step > 0; step /= 2) {
    lo = min(lo, __shfl_xor_sync(0xffffffffu, lo, step));
    hi = max(hi, __shfl_xor_sync(0xffffffffu, hi, step));
  }
  if (tid % 32 == 0) {
    lo_of_warp[tid / 32] = lo;
    hi_of_warp[tid / 32] = hi;
  }
  __syncthreads();
  for (int w = 0; w < Br / 32; ++w) {
    lo = min(lo, lo_of_warp[w]);
    hi = max(hi, hi_of_warp[w]);
  }
  if (lo >= hi) return;

  const int row = head * n_q + i;
  float m = -INFINITY;
  float l = 0.f;
  float4 my_q[D4];
  float4 my_o[D4];
  for (int c = 0; c < D4; ++c) {
    my_q[c] = make_float4(0.f, 0.f, 0.f, 0.f);
    my_o[c] = make_float4(0.f, 0.f, 0.f, 0.f);
  }
  if (active) {
    m = m_global[row];
    l = l_global[row];
    for (int c = 0; c < D4; ++c) {
      my_q[c] = q[row * D4 + c];
      my_o[c] = o_global[row * D4 + c];
    }
  }

  const float scale = 1.f / sqrtf(static_cast<float>(D));
  for (int j0 = lo; j0 < hi; j0 += Bc) {
    const int n = min(Bc, hi - j0);
    const int offset = (head * n_k + j0) * D4;
    for (int x = tid; x < Bc * D4; x += Br) {
      const bool there = x / D4 < n;
      k_tile[x] = there ? k[offset + x] : make_float4(0.f, 0.f, 0.f, 0.f);
      v_tile[x] = there ? v[offset + x] : make_float4(0.f, 0.f, 0.f, 0.f);
    }
    __syncthreads();

    float s[Bc];
    float m_new = m;
    for (int j = 0; j < Bc; ++j) {
      float sum = 0.f;
      for (int c = 0; c < D4; ++c) {
        const float4 x = my_q[c];
        const float4 y = k_tile[j * D4 + c];
        sum += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
      }
      const bool hidden = j0 + j < begin || j0 + j >= end;
      s[j] = hidden ? -INFINITY : sum * scale;
      m_new = fmaxf(m_new, s[j]);
    }

    if (m_new > -INFINITY) {
      // exp2f is what the hardware has
      const float factor = exp2f(m - m_new);
      l *= factor;
      for (int c = 0; c < D4; ++c) {
        my_o[c].x *= factor;
        my_o[c].y *= factor;
        my_o[c].z *= factor;
        my_o[c].w *= factor;
      }
      for (int j = 0; j < Bc; ++j) {
        const float p = exp2f((s[j] - m_new) * log2e);
        l += p;
        for (int c = 0; c < D4; ++c) {
          const float4 y = v_tile[j * D4 + c];
          my_o[c].x += p * y.x;
          my_o[c].y += p * y.y;
          my_o[c].z += p * y.z;
          my_o[c].w += p * y.w;
        }
      }
      m = m_new;
    }
    __syncthreads();
  }

  if (active) {
    m_global[row] = m;
    l_global[row] = l;
    for (int c = 0; c < D4; ++c) o_global[row * D4 + c] = my_o[c];
  }
}

template <int D>
void launch_fwd(const float* q, const float* k, const float* v, const int* first, const int* last,
                const State& state, const Shape& shape, cudaStream_t stream) {
  const dim3 blocks((shape.queries + Br - 1) / Br, shape.heads);
  flash_fwd<D><<<blocks, Br, 0, stream>>>(
      reinterpret_cast<const float4*>(q), reinterpret_cast<const float4*>(k),
      reinterpret_cast<const float4*>(v), first, last, state.m, state.l, reinterpret_cast<float4*>(state.o),
      shape.queries, shape.keys);
  course::cuda_check(cudaGetLastError());
}

void forward(const float* q, const float* k, const float* v, const int* first, const int* last,
             const State& state, const Shape& shape, cudaStream_t stream) {
  if (shape.heads < 1 || shape.queries < 1 || shape.keys < 1) return;
  switch (shape.head_dim) {
    case 32:
      launch_fwd<32>(q, k, v, first, last, state, shape, stream);
      return;
    case 64:
      launch_fwd<64>(q, k, v, first, last, state, shape, stream);
      return;
    case 128:
      launch_fwd<128>(q, k, v, first, last, state, shape, stream);
      return;
    default:
      throw std::runtime_error("head_dim must be 32, 64 or 128");
  }
}

// A thread for each entry of o.
__global__ void finish_entries(State state, float* lse, int entries, int head_dim) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (x >= entries) return;
  const int row = x / head_dim;
  const float l = state.l[row];
  state.o[x] = l > 0.f ? state.o[x] / l : 0.f;
  if (x % head_dim == 0) lse[row] = l > 0.f ? state.m[row] + logf(l) : -INFINITY;
}

}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  const int entries = shape.heads * shape.queries * shape.head_dim;
  if (entries == 0) return;
  const int threads = 256;
  finish_entries<<<(entries + threads - 1) / threads, threads, 0, stream>>>(state, lse, entries,
                                                                            shape.head_dim);
  course::cuda_check(cudaGetLastError());
}

void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream) {
  forward(q, k, v, nullptr, nullptr, state, shape, stream);
}

void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  forward(q, k, v, range.first, range.last, state, shape, stream);
}

}  // namespace lesson10
