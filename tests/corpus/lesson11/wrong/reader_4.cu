// wrong: dQ's walk over keys ends at the number of queries
// line: for (int j0 = 0; j0 < shape.queries; j0 += kTile) {
// rating: led
#include "cuda_flash_backward.hpp"
#include "lesson/cuda_check.hpp"
#include "lesson/not_implemented.hpp"

namespace lesson11 {

namespace {

constexpr int kTile = 32;
constexpr int kThreads = 256;

template <int D>
constexpr int kPitch = D + 4;

template <int D>
constexpr size_t shared_bytes() {
  return (4 * kTile * kPitch<D> + 2 * kTile * (kTile + 1)) * sizeof(float);
}

template <int D>
struct Tiles {
  float *q, *d_o, *k, *v, *p, *ds;
  __device__ explicit Tiles(float* all) {
    q = all;
    d_o = q + kTile * kPitch<D>;
    k = d_o + kTile * kPitch<D>;
    v = k + kTile * kPitch<D>;
    p = v + kTile * kPitch<D>;
    ds = p + kTile * (kTile + 1);
  }
};

template <int D>
__device__ void load_rows(float* tile, const float* from, int first, int rows) {
  for (int i = threadIdx.x; i < kTile * D; i += kThreads) {
    const int row = i / D, col = i % D;
    tile[row * kPitch<D> + col] = first + row < rows ? from[(size_t)(first + row) * D + col] : 0.0f;
  }
}

// Does any of the 32 queries from i0 on see one of the keys j0 .. j0 + 31 that exist? The same for all warps.
__device__ bool tile_seen(const KeyRange& range, int i0, int queries, int j0, int keys) {
  const int i = i0 + threadIdx.x % 32;
  bool sees = false;
  if (i < queries) {
    const int first = max(range.first[i], j0);
    const int last = min(range.last[i], min(j0 + kTile, keys));
    sees = first < last;
  }
  return __any_sync(0xffffffffu, sees);
}

// p and ds of the tile in shared memory, [query][key].
template <int D>
__device__ void make_p_ds(const Tiles<D>& t, const Block& block, int head, int i0, int j0, const Shape& shape) {
  const float scale = 1.0f / sqrtf((float)D);
  for (int e = threadIdx.x; e < kTile * kTile; e += kThreads) {
    const int a = e / kTile, b = e % kTile;
    const int i = i0 + a, j = j0 + b;
    float p = 0, ds = 0;
    if (i < shape.queries && j < shape.keys && block.range.first[i] <= j && j < block.range.last[i]) {
      float s = 0, dp = 0;
      for (int c = 0; c < D; ++c) {
        s += t.q[a * kPitch<D> + c] * t.k[b * kPitch<D> + c];
        dp += t.d_o[a * kPitch<D> + c] * t.v[b * kPitch<D> + c];
      }
      const size_t row = (size_t)head * shape.queries + i;
      p = expf(s * scale - block.lse[row]);
      ds = p * (dp - block.delta[row]);
    }
    t.p[a * (kTile + 1) + b] = p;
    t.ds[a * (kTile + 1) + b] = ds;
  }
}

__global__ void delta_rows(const float* o, const float* d_o, float* delta, int rows, int d) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  float sum = 0;
  if (row < rows)
    for (int c = lane; c < d; c += 32) sum += o[(size_t)row * d + c] * d_o[(size_t)row * d + c];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (row < rows && lane == 0) delta[row] = sum;
}

template <int D>
__global__ void key_gradients(Block block, float* dk, float* dv, Shape shape) {
  extern __shared__ float room[];
  const Tiles<D> t(room);
  const int head = blockIdx.y, j0 = blockIdx.x * kTile;
  const size_t query_rows = (size_t)head * shape.queries * D, key_rows = (size_t)head * shape.keys * D;
  load_rows<D>(t.k, block.k + key_rows, j0, shape.keys);
  load_rows<D>(t.v, block.v + key_rows, j0, shape.keys);
  constexpr int columns = D / 8;
  const int b = threadIdx.x / 8, c0 = threadIdx.x % 8;
  float sum_k[columns] = {}, sum_v[columns] = {};
  for (int i0 = 0; i0 < shape.queries; i0 += kTile) {
    if (!tile_seen(block.range, i0, shape.queries, j0, shape.keys)) continue;
    __syncthreads();
    load_rows<D>(t.q, block.q + query_rows, i0, shape.queries);
    load_rows<D>(t.d_o, block.d_o + query_rows, i0, shape.queries);
    __syncthreads();
    make_p_ds(t, block, head, i0, j0, shape);
    __syncthreads();
    for (int a = 0; a < kTile; ++a) {
      const float p = t.p[a * (kTile + 1) + b], ds = t.ds[a * (kTile + 1) + b];
      for (int n = 0; n < columns; ++n) {
        sum_v[n] += p * t.d_o[a * kPitch<D> + c0 + 8 * n];
        sum_k[n] += ds * t.q[a * kPitch<D> + c0 + 8 * n];
      }
    }
  }
  if (j0 + b >= shape.keys) return;
  const float scale = 1.0f / sqrtf((float)D);
  for (int n = 0; n < columns; ++n) {
    const size_t at = key_rows + (size_t)(j0 + b) * D + c0 + 8 * n;
    dk[at] += sum_k[n] * scale;
    dv[at] += sum_v[n];
  }
}

template <int D>
__global__ void query_gradients(Block block, float* dq, Shape shape) {
  extern __shared__ float room[];
  const Tiles<D> t(room);
  const int head = blockIdx.y, i0 = blockIdx.x * kTile;
  const size_t query_rows = (size_t)head * shape.queries * D, key_rows = (size_t)head * shape.keys * D;
  load_rows<D>(t.q, block.q + query_rows, i0, shape.queries);
  load_rows<D>(t.d_o, block.d_o + query_rows, i0, shape.queries);
  constexpr int columns = D / 8;
  const int a = threadIdx.x / 8, c0 = threadIdx.x % 8;
  float sum[columns] = {};
  for (int j0 = 0; j0 < shape.queries; j0 += kTile) {
    if (!tile_seen(block.range, i0, shape.queries, j0, shape.keys)) continue;
    __syncthreads();
    load_rows<D>(t.k, block.k + key_rows, j0, shape.keys);
    load_rows<D>(t.v, block.v + key_rows, j0, shape.keys);
    __syncthreads();
    make_p_ds(t, block, head, i0, j0, shape);
    __syncthreads();
    for (int b = 0; b < kTile; ++b) {
      const float ds = t.ds[a * (kTile + 1) + b];
      for (int n = 0; n < columns; ++n) sum[n] += ds * t.k[b * kPitch<D> + c0 + 8 * n];
    }
  }
  if (i0 + a >= shape.queries) return;
  const float scale = 1.0f / sqrtf((float)D);
  for (int n = 0; n < columns; ++n)
    dq[query_rows + (size_t)(i0 + a) * D + c0 + 8 * n] += sum[n] * scale;
}

int tiles(int rows) { return (rows + kTile - 1) / kTile; }

template <int D>
void launch_keys(const Block& block, float* dk, float* dv, const Shape& shape, cudaStream_t stream) {
  course::cuda_check(cudaFuncSetAttribute(key_gradients<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes<D>()));
  const dim3 grid(tiles(shape.keys), shape.heads);
  key_gradients<D><<<grid, kThreads, shared_bytes<D>(), stream>>>(block, dk, dv, shape);
  course::cuda_check(cudaGetLastError());
}

template <int D>
void launch_queries(const Block& block, float* dq, const Shape& shape, cudaStream_t stream) {
  course::cuda_check(cudaFuncSetAttribute(query_gradients<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes<D>()));
  const dim3 grid(tiles(shape.queries), shape.heads);
  query_gradients<D><<<grid, kThreads, shared_bytes<D>(), stream>>>(block, dq, shape);
  course::cuda_check(cudaGetLastError());
}

}  // namespace

void row_delta(const float* o, const float* d_o, float* delta, const Shape& shape, cudaStream_t stream) {
  const int rows = shape.heads * shape.queries;
  if (rows == 0) return;
  constexpr int warps = 4;
  delta_rows<<<(rows + warps - 1) / warps, 32 * warps, 0, stream>>>(o, d_o, delta, rows, shape.head_dim);
  course::cuda_check(cudaGetLastError());
}

void add_key_gradients(const Block& block, float* dk, float* dv, const Shape& shape, cudaStream_t stream) {
  if (shape.heads == 0 || shape.queries == 0 || shape.keys == 0) return;
  if (shape.head_dim == 32) launch_keys<32>(block, dk, dv, shape, stream);
  if (shape.head_dim == 64) launch_keys<64>(block, dk, dv, shape, stream);
  if (shape.head_dim == 128) launch_keys<128>(block, dk, dv, shape, stream);
}

void add_gradients(const Block& block, float* dq, float* dk, float* dv, const Shape& shape,
                   cudaStream_t stream) {
  if (shape.heads == 0 || shape.queries == 0 || shape.keys == 0) return;
  add_key_gradients(block, dk, dv, shape, stream);
  if (shape.head_dim == 32) launch_queries<32>(block, dq, shape, stream);
  if (shape.head_dim == 64) launch_queries<64>(block, dq, shape, stream);
  if (shape.head_dim == 128) launch_queries<128>(block, dq, shape, stream);
}

}  // namespace lesson11
