#include "cuda_flash_backward.hpp"
#include "lesson/cuda_check.hpp"
#include "lesson/not_implemented.hpp"

namespace lesson11 {

namespace {

// Kernels, and the functions of the device that they share.

//> task 1
constexpr int warp_lanes = 32;
constexpr unsigned all_lanes = 0xffffffffu;
constexpr int block_threads = 128;

__global__ void delta_of_rows(const float* o, const float* d_o, float* delta, int rows, int head_dim) {
  const int row = (blockIdx.x * block_threads + threadIdx.x) / warp_lanes;
  const int lane = threadIdx.x % warp_lanes;
  if (row >= rows) return;
  const size_t begin = static_cast<size_t>(row) * head_dim;
  float sum = 0.0f;
  for (int c = lane; c < head_dim; c += warp_lanes) sum += o[begin + c] * d_o[begin + c];
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(all_lanes, sum, distance);
  if (lane == 0) delta[row] = sum;
}

//< task 1
//> task 2
// A block of threads works on a tile at a time: 32 queries and 32 keys, one for each lane of a warp.
constexpr int tile = warp_lanes;

/// What the threads of a block hand to each other, in shared memory. A row is longer than it need be, so that
/// neighbouring rows begin in different banks.
template <int head_dim>
struct Tiles {
  static constexpr int vectors = head_dim / 4;
  float4 q[tile][vectors + 1], d_o[tile][vectors + 1];
  float4 k[tile][vectors + 1], v[tile][vectors + 1];
  float p[tile][tile + 1], ds[tile][tile + 1];  ///< by query and key
};

__device__ float dot(float4 a, float4 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

__device__ void add_scaled(float4& sum, float factor, float4 x) {
  sum.x += factor * x.x;
  sum.y += factor * x.y;
  sum.z += factor * x.z;
  sum.w += factor * x.w;
}

/// What one head's kernels read of a block.
__device__ Block of_head(Block block, const Shape& shape, int head) {
  const size_t queries = static_cast<size_t>(head) * shape.queries;
  const size_t keys = static_cast<size_t>(head) * shape.keys;
  block.q += queries * shape.head_dim;
  block.d_o += queries * shape.head_dim;
  block.k += keys * shape.head_dim;
  block.v += keys * shape.head_dim;
  block.lse += queries;
  block.delta += queries;
  return block;
}

/// Rows `first` to `first + tile` of `from`, which has `rows` of them; zeros past the last.
template <int stride>
__device__ void load(const float* from, int first, int rows, float4 (&to)[tile][stride]) {
  constexpr int vectors = stride - 1;
  for (int i = threadIdx.x; i < tile * vectors; i += block_threads) {
    const int row = i / vectors, vector = i % vectors;
    float4 entries = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (first + row < rows)
      entries = reinterpret_cast<const float4*>(from)[static_cast<size_t>(first + row) * vectors + vector];
    to[row][vector] = entries;
  }
}

/// Whether any query of a tile sees any of its keys. Each warp asks all of the queries, one a lane, so that
/// all threads of the block get the same answer.
__device__ bool is_seen(const KeyRange& range, const Shape& shape, int first_query, int first_key) {
  const int query = first_query + threadIdx.x % warp_lanes;
  bool sees = false;
  if (query < shape.queries)
    sees = max(range.first[query], first_key) < min(range.last[query], first_key + tile);
  return __any_sync(all_lanes, sees);
}

/// Makes p and ds of q, d_o, k and v. A thread has every 8th query and every 16th key.
template <int head_dim>
__device__ void weigh(Tiles<head_dim>& tiles, const Block& block, const Shape& shape, int first_query,
                      int first_key) {
  constexpr int columns = 16, rows = block_threads / columns;
  constexpr int own_queries = tile / rows, own_keys = tile / columns;
  const int column = threadIdx.x % columns, row = threadIdx.x / columns;
  float s[own_queries][own_keys] = {}, dp[own_queries][own_keys] = {};
  for (int c = 0; c < head_dim / 4; ++c) {
    float4 k[own_keys], v[own_keys];
    for (int j = 0; j < own_keys; ++j) {
      k[j] = tiles.k[column + columns * j][c];
      v[j] = tiles.v[column + columns * j][c];
    }
    for (int i = 0; i < own_queries; ++i) {
      const float4 q = tiles.q[row + rows * i][c], d_o = tiles.d_o[row + rows * i][c];
      for (int j = 0; j < own_keys; ++j) {
        s[i][j] += dot(q, k[j]);
        dp[i][j] += dot(d_o, v[j]);
      }
    }
  }
  const float scale = 1.0f / sqrtf(head_dim);
  for (int i = 0; i < own_queries; ++i) {
    const int query = first_query + row + rows * i;
    const bool is_query = query < shape.queries;
    const int first = is_query ? block.range.first[query] : 0;
    const int last = is_query ? min(block.range.last[query], shape.keys) : 0;
    const float lse = is_query ? block.lse[query] : 0.0f;
    const float delta = is_query ? block.delta[query] : 0.0f;
    for (int j = 0; j < own_keys; ++j) {
      const int key = first_key + column + columns * j;
      const float p = first <= key && key < last ? expf(scale * s[i][j] - lse) : 0.0f;
      tiles.p[row + rows * i][column + columns * j] = p;
      tiles.ds[row + rows * i][column + columns * j] = p * (dp[i][j] - delta);
    }
  }
}

/// Adds a thread's sums, one vector of each row from `row` on, to the rows of `to` that there are.
template <int head_dim, int own_rows>
__device__ void add_rows(float* to, int row, int rows, int vector, float factor,
                         const float4 (&sums)[own_rows]) {
  for (int n = 0; n < own_rows && row + n < rows; ++n) {
    const size_t begin = static_cast<size_t>(row + n) * head_dim;
    add_scaled(reinterpret_cast<float4*>(to + begin)[vector], factor, sums[n]);
  }
}

/// A block of threads keeps a tile of keys and walks the queries. For the sums a thread has one vector of
/// four columns, of some keys in a row.
template <int head_dim>
__global__ void key_gradients(Block block, Shape shape, float* dk, float* dv) {
  extern __shared__ float4 shared[];
  Tiles<head_dim>& tiles = *reinterpret_cast<Tiles<head_dim>*>(shared);
  constexpr int vectors = head_dim / 4, own_keys = tile * vectors / block_threads;
  const int vector = threadIdx.x % vectors, key = threadIdx.x / vectors * own_keys;
  const int head = blockIdx.y, first_key = blockIdx.x * tile;
  block = of_head(block, shape, head);
  load(block.k, first_key, shape.keys, tiles.k);
  load(block.v, first_key, shape.keys, tiles.v);
  float4 own_dk[own_keys] = {}, own_dv[own_keys] = {};
  for (int first_query = 0; first_query < shape.queries; first_query += tile) {
    if (!is_seen(block.range, shape, first_query, first_key)) continue;
    __syncthreads();  // nobody reads the last tile any more
    load(block.q, first_query, shape.queries, tiles.q);
    load(block.d_o, first_query, shape.queries, tiles.d_o);
    __syncthreads();
    weigh(tiles, block, shape, first_query, first_key);
    __syncthreads();
    for (int i = 0; i < tile; ++i) {
      const float4 q = tiles.q[i][vector], d_o = tiles.d_o[i][vector];
      for (int n = 0; n < own_keys; ++n) {
        add_scaled(own_dv[n], tiles.p[i][key + n], d_o);
        add_scaled(own_dk[n], tiles.ds[i][key + n], q);
      }
    }
  }
  const size_t of_head = static_cast<size_t>(head) * shape.keys * head_dim;
  const float scale = 1.0f / sqrtf(head_dim);
  add_rows<head_dim>(dk + of_head, first_key + key, shape.keys, vector, scale, own_dk);
  add_rows<head_dim>(dv + of_head, first_key + key, shape.keys, vector, 1.0f, own_dv);
}

template <int head_dim>
void launch_key_gradients(const Block& block, float* dk, float* dv, const Shape& shape, cudaStream_t stream) {
  const dim3 grid((shape.keys + tile - 1) / tile, shape.heads);
  const int bytes = sizeof(Tiles<head_dim>);  // more than 48 KB have to be allowed
  course::cuda_check(
      cudaFuncSetAttribute(key_gradients<head_dim>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  key_gradients<head_dim><<<grid, block_threads, bytes, stream>>>(block, shape, dk, dv);
  course::cuda_check(cudaGetLastError());
}

bool is_empty(const Shape& shape) {
  return shape.heads == 0 || shape.queries == 0 || shape.keys == 0;
}

//< task 2
//> task 3
/// A block of threads keeps a tile of queries and walks the keys, with the roles of key_gradients()
/// exchanged.
template <int head_dim>
__global__ void query_gradients(Block block, Shape shape, float* dq) {
  extern __shared__ float4 shared[];
  Tiles<head_dim>& tiles = *reinterpret_cast<Tiles<head_dim>*>(shared);
  constexpr int vectors = head_dim / 4, own_queries = tile * vectors / block_threads;
  const int vector = threadIdx.x % vectors, query = threadIdx.x / vectors * own_queries;
  const int head = blockIdx.y, first_query = blockIdx.x * tile;
  block = of_head(block, shape, head);
  load(block.q, first_query, shape.queries, tiles.q);
  load(block.d_o, first_query, shape.queries, tiles.d_o);
  float4 own_dq[own_queries] = {};
  for (int first_key = 0; first_key < shape.keys; first_key += tile) {
    if (!is_seen(block.range, shape, first_query, first_key)) continue;
    __syncthreads();
    load(block.k, first_key, shape.keys, tiles.k);
    load(block.v, first_key, shape.keys, tiles.v);
    __syncthreads();
    weigh(tiles, block, shape, first_query, first_key);
    __syncthreads();
    for (int j = 0; j < tile; ++j) {
      const float4 k = tiles.k[j][vector];
      for (int n = 0; n < own_queries; ++n) add_scaled(own_dq[n], tiles.ds[query + n][j], k);
    }
  }
  const size_t of_head = static_cast<size_t>(head) * shape.queries * head_dim;
  add_rows<head_dim>(dq + of_head, first_query + query, shape.queries, vector, 1.0f / sqrtf(head_dim),
                     own_dq);
}

template <int head_dim>
void launch_query_gradients(const Block& block, float* dq, const Shape& shape, cudaStream_t stream) {
  const dim3 grid((shape.queries + tile - 1) / tile, shape.heads);
  const int bytes = sizeof(Tiles<head_dim>);
  course::cuda_check(
      cudaFuncSetAttribute(query_gradients<head_dim>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  query_gradients<head_dim><<<grid, block_threads, bytes, stream>>>(block, shape, dq);
  course::cuda_check(cudaGetLastError());
}

//< task 3
}  // namespace

void row_delta(const float* o, const float* d_o, float* delta, const Shape& shape, cudaStream_t stream) {
  //> task 1
  //| // A row of o and of d_o is 32, 64 or 128 numbers: a warp's work. What is left to do when each lane has
  //| // multiplied its own?
  //| throw course::NotImplemented("task 1, row_delta");
  const int rows = shape.heads * shape.queries;
  if (rows == 0) return;
  const int rows_of_block = block_threads / warp_lanes;
  const int blocks = (rows + rows_of_block - 1) / rows_of_block;
  delta_of_rows<<<blocks, block_threads, 0, stream>>>(o, d_o, delta, rows, shape.head_dim);
  course::cuda_check(cudaGetLastError());
  //< task 1
}

void add_key_gradients(const Block& block, float* dk, float* dv, const Shape& shape, cudaStream_t stream) {
  //> task 2
  //| // A block of threads keeps some keys of one head and walks the queries, a tile at a time: p and ds meet in
  //| // shared memory, dK and dV grow in registers. Who adds them to device memory, and when?
  //| throw course::NotImplemented("task 2, add_key_gradients");
  if (is_empty(shape)) return;
  if (shape.head_dim == 32) launch_key_gradients<32>(block, dk, dv, shape, stream);
  if (shape.head_dim == 64) launch_key_gradients<64>(block, dk, dv, shape, stream);
  if (shape.head_dim == 128) launch_key_gradients<128>(block, dk, dv, shape, stream);
  //< task 2
}

void add_gradients(const Block& block, float* dq, float* dk, float* dv, const Shape& shape,
                   cudaStream_t stream) {
  //> task 3
  //| // Two blocks of threads with different keys add to the same dq_i. Either they add atomically, or somebody
  //| // else walks the keys.
  //| throw course::NotImplemented("task 3, add_gradients");
  add_key_gradients(block, dk, dv, shape, stream);
  if (is_empty(shape)) return;
  if (shape.head_dim == 32) launch_query_gradients<32>(block, dq, shape, stream);
  if (shape.head_dim == 64) launch_query_gradients<64>(block, dq, shape, stream);
  if (shape.head_dim == 128) launch_query_gradients<128>(block, dq, shape, stream);
  //< task 3
}

}  // namespace lesson11
