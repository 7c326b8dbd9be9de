// wrong: a thread computes the scores of keys t and t + 16 of a tile, but asks whether keys 2 t and 2 t + 1 are seen
// line: const int key = tile0 + 2 * t + x;
// rating: not led
#include <cmath>
#include <stdexcept>
#include <string>

#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"

namespace lesson10 {

namespace {

constexpr unsigned everybody = 0xffffffff;

// 128 threads for 64 queries. K and V have a room each, so a tile needs three barriers.
constexpr int nq = 64;
constexpr int nk = 32;
constexpr int nthreads = 128;

template <int D>
struct Rooms {
  static constexpr int k_stride = D + 1;
  static constexpr int w_stride = nk + 1;
  static constexpr int q_at = 0;
  static constexpr int k_at = q_at + nq * D;
  static constexpr int v_at = k_at + nk * k_stride;
  static constexpr int w_at = v_at + nk * D;
  static constexpr int floats = w_at + nq * w_stride;
  static constexpr int bytes = floats * 4;
};

__global__ void finish_query(State state, float* lse, int d) {
  const int query = blockIdx.x;
  const int column = threadIdx.x;
  const float l = state.l[query];
  const float m = state.m[query];
  if (l == 0.f) {
    state.o[query * d + column] = 0.f;
    if (column == 0) lse[query] = -INFINITY;
    return;
  }
  state.o[query * d + column] = state.o[query * d + column] / l;
  if (column == 0) lse[query] = m + logf(l);
}

template <int D>
__global__ void attend(const float* q, const float* k, const float* v, const int* first, const int* last,
                       State state, int queries, int keys) {
  using R = Rooms<D>;
  extern __shared__ float4 room[];
  float* shared_floats = reinterpret_cast<float*>(room);
  float* qt = shared_floats + R::q_at;
  float* kt = shared_floats + R::k_at;
  float* vt = shared_floats + R::v_at;
  float* wt = shared_floats + R::w_at;

  const int thread = threadIdx.x;
  const int t = thread & 15;
  const int base_row = (thread >> 4) * 8;
  const int q_begin = static_cast<int>(blockIdx.x) * nq;
  const int q_end = min(q_begin + nq, queries);
  const int head = blockIdx.y;
  const float* qh = q + head * queries * D;
  const float* kh = k + head * keys * D;
  const float* vh = v + head * keys * D;

  // from where to where do we have to go?
  int k_begin = 0;
  int k_end = keys;
  if (first) {
    k_begin = keys;
    k_end = 0;
    for (int i = q_begin; i < q_end; i++) {
      if (first[i] < last[i]) {
        k_begin = min(k_begin, first[i]);
        k_end = max(k_end, last[i]);
      }
    }
    k_begin = max(k_begin, 0) / nk * nk;
    k_end = min(k_end, keys);
    if (k_begin >= k_end) return;
  }

  for (int e = thread; e < nq * D; e += nthreads) {
    const int i = q_begin + e / D;
    qt[e] = i < q_end ? qh[i * D + e % D] / sqrtf(static_cast<float>(D)) : 0.f;
  }

  float m[8], l[8], o[8][D / 16];
  int see_from[8], see_to[8];
  for (int r = 0; r < 8; r++) {
    const int i = q_begin + base_row + r;
    const bool there = i < q_end;
    m[r] = there ? state.m[head * queries + i] : -INFINITY;
    l[r] = there ? state.l[head * queries + i] : 0.f;
    see_from[r] = there && first ? first[i] : 0;
    see_to[r] = there && last ? min(last[i], keys) : keys;
    for (int c = 0; c < D / 16; c++)
      o[r][c] = there ? state.o[(head * queries + i) * D + 16 * c + t] : 0.f;
  }

  for (int tile0 = k_begin; tile0 < k_end; tile0 += nk) {
    for (int e = thread; e < nk * D; e += nthreads) {
      const int j = e / D;
      const int column = e % D;
      float kx = 0.f;
      float vx = 0.f;
      if (tile0 + j < keys) {
        kx = kh[(tile0 + j) * D + column];
        vx = vh[(tile0 + j) * D + column];
      }
      kt[j * R::k_stride + column] = kx;
      vt[e] = vx;
    }
    __syncthreads();

    float s[8][2];
    for (int r = 0; r < 8; r++) {
      s[r][0] = 0.f;
      s[r][1] = 0.f;
    }
    for (int column = 0; column < D; column++) {
      const float k0 = kt[t * R::k_stride + column];
      const float k1 = kt[(t + 16) * R::k_stride + column];
      for (int r = 0; r < 8; r++) {
        const float x = qt[(base_row + r) * D + column];
        s[r][0] += x * k0;
        s[r][1] += x * k1;
      }
    }
    for (int x = 0; x < 2; x++) {
      const int key = tile0 + 2 * t + x;
      for (int r = 0; r < 8; r++)
        if (key < see_from[r] || key >= see_to[r]) s[r][x] = -INFINITY;
    }

    for (int r = 0; r < 8; r++) {
      float new_m = fmaxf(s[r][0], s[r][1]);
      for (int away = 1; away <= 8; away <<= 1)
        new_m = fmaxf(new_m, __shfl_xor_sync(everybody, new_m, away));
      new_m = fmaxf(new_m, m[r]);
      const float minus = new_m == -INFINITY ? 0.f : new_m;

      const float w0 = expf(s[r][0] - minus);
      const float w1 = expf(s[r][1] - minus);
      wt[(base_row + r) * R::w_stride + t] = w0;
      wt[(base_row + r) * R::w_stride + t + 16] = w1;
      float row_sum = w0 + w1;
      for (int away = 1; away <= 8; away <<= 1) row_sum += __shfl_xor_sync(everybody, row_sum, away);

      const float f = expf(m[r] - minus);
      l[r] = f * l[r] + row_sum;
      for (int c = 0; c < D / 16; c++) o[r][c] *= f;
      m[r] = new_m;
    }
    __syncthreads();

    for (int j = 0; j < nk; j++) {
      for (int r = 0; r < 8; r++) {
        const float w = wt[(base_row + r) * R::w_stride + j];
        for (int c = 0; c < D / 16; c++) o[r][c] += w * vt[j * D + 16 * c + t];
      }
    }
    __syncthreads();
  }

  for (int r = 0; r < 8; r++) {
    const int i = q_begin + base_row + r;
    if (i < q_end) {
      for (int c = 0; c < D / 16; c++) state.o[(head * queries + i) * D + 16 * c + t] = o[r][c];
      if (t == 0) {
        state.m[head * queries + i] = m[r];
        state.l[head * queries + i] = l[r];
      }
    }
  }
}

template <int D>
void go(const float* q, const float* k, const float* v, const int* first, const int* last,
        const State& state, const Shape& shape, cudaStream_t stream) {
  course::cuda_check(
      cudaFuncSetAttribute(attend<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, Rooms<D>::bytes));
  const dim3 grid((shape.queries + nq - 1) / nq, shape.heads);
  const int bytes = Rooms<D>::bytes;
  attend<D><<<grid, nthreads, bytes, stream>>>(q, k, v, first, last, state, shape.queries, shape.keys);
  course::cuda_check(cudaGetLastError());
}

void any_head_dim(const float* q, const float* k, const float* v, const int* first, const int* last,
                  const State& state, const Shape& shape, cudaStream_t stream) {
  if (shape.heads * shape.queries == 0) return;
  if (shape.keys == 0) return;
  if (shape.head_dim == 32) {
    go<32>(q, k, v, first, last, state, shape, stream);
  } else if (shape.head_dim == 64) {
    go<64>(q, k, v, first, last, state, shape, stream);
  } else {
    go<128>(q, k, v, first, last, state, shape, stream);
  }
}

}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  if (shape.heads * shape.queries == 0) return;
  finish_query<<<shape.heads * shape.queries, shape.head_dim, 0, stream>>>(state, lse, shape.head_dim);
  course::cuda_check(cudaGetLastError());
}

void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream) {
  any_head_dim(q, k, v, nullptr, nullptr, state, shape, stream);
}

void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  any_head_dim(q, k, v, range.first, range.last, state, shape, stream);
}

}  // namespace lesson10
