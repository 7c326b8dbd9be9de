#include <stdexcept>
#include <string>

#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"
#include "lesson/not_implemented.hpp"

namespace lesson10 {

namespace {

// Kernels, and what they call.

//> task 1
__global__ void finish_rows(State state, float* lse, int head_dim) {
  const int row = blockIdx.x;
  const float m = state.m[row], l = state.l[row];
  float& entry = state.o[static_cast<size_t>(row) * head_dim + threadIdx.x];
  entry = m == -INFINITY ? 0.0f : entry / l;
  if (threadIdx.x == 0) lse[row] = m + logf(l);
}

//< task 1
//> task 2
// A block of threads takes 64 queries of a head through all keys, 32 at a time. 16 threads share 8 queries:
// of a tile of scores, each of them has every 16th key; of the output, every 16th column.
constexpr int tile_queries = 64, tile_keys = 32;
constexpr int block_threads = 128;
constexpr int sharers = 16;
constexpr int own_rows = tile_queries / (block_threads / sharers), own_keys = tile_keys / sharers;

/// Rows in shared memory are 16 bytes longer than they need be: 8 in a row then lie in different banks.
constexpr int padding = 4;
constexpr int weights_stride = tile_keys + padding;

/// For a tile of queries, one of keys or values, and the weights.
template <int head_dim>
constexpr int shared_bytes() {
  const int floats = (tile_queries + tile_keys) * (head_dim + padding) + tile_queries * weights_stride;
  return floats * static_cast<int>(sizeof(float));
}

__device__ int own_row(int i) {
  return threadIdx.x / sharers * own_rows + i;
}

__device__ int own_column(int i) {
  return threadIdx.x % sharers + sharers * i;
}

/// What a thread has of the state.
template <int head_dim>
struct Rows {
  static constexpr int own_cols = head_dim / sharers;
  float m[own_rows], l[own_rows], o[own_rows][own_cols];
};

template <int head_dim>
__device__ Rows<head_dim> read_state(const State& state, size_t first_row, int rows) {
  Rows<head_dim> own;
  for (int i = 0; i < own_rows; ++i) {
    const bool is_there = own_row(i) < rows;
    const size_t row = first_row + own_row(i);
    own.m[i] = is_there ? state.m[row] : -INFINITY;
    own.l[i] = is_there ? state.l[row] : 0.0f;
    for (int c = 0; c < own.own_cols; ++c)
      own.o[i][c] = is_there ? state.o[row * head_dim + own_column(c)] : 0.0f;
  }
  return own;
}

template <int head_dim>
__device__ void write_state(const Rows<head_dim>& own, const State& state, size_t first_row, int rows) {
  for (int i = 0; i < own_rows; ++i) {
    if (own_row(i) >= rows) return;
    const size_t row = first_row + own_row(i);
    for (int c = 0; c < own.own_cols; ++c) state.o[row * head_dim + own_column(c)] = own.o[i][c];
    if (own_column(0) == 0) {
      state.m[row] = own.m[i];
      state.l[row] = own.l[i];
    }
  }
}

/// The first `rows` of `count` rows into shared memory, and zeros for the others.
template <int head_dim>
__device__ void load_tile(const float* from, int rows, int count, float* to) {
  constexpr int vectors = head_dim / 4;
  for (int i = threadIdx.x; i < count * vectors; i += block_threads) {
    const int row = i / vectors, col = i % vectors * 4;
    const float4 zeros = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    *reinterpret_cast<float4*>(to + row * (head_dim + padding) + col) =
        row < rows ? *reinterpret_cast<const float4*>(from + row * head_dim + col) : zeros;
  }
}

__device__ float4 vector_at(const float* address) {
  return *reinterpret_cast<const float4*>(address);
}

__device__ float dot(float4 a, float4 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

using Scores = float[own_rows][own_keys];

template <int head_dim>
__device__ void compute_scores(const float* q_tile, const float* k_tile, float scale, Scores& scores) {
  constexpr int stride = head_dim + padding;
  for (int i = 0; i < own_rows; ++i) {
    for (int j = 0; j < own_keys; ++j) scores[i][j] = 0.0f;
  }
  for (int c = 0; c < head_dim; c += 4) {
    float4 key[own_keys];
    for (int j = 0; j < own_keys; ++j) key[j] = vector_at(k_tile + own_column(j) * stride + c);
    for (int i = 0; i < own_rows; ++i) {
      const float4 query = vector_at(q_tile + own_row(i) * stride + c);
      for (int j = 0; j < own_keys; ++j) scores[i][j] += dot(query, key[j]);
    }
  }
  for (int i = 0; i < own_rows; ++i) {
    for (int j = 0; j < own_keys; ++j) scores[i][j] *= scale;
  }
}

/// The keys from `first` to `last` - 1; none where there is none between.
struct Keys {
  int first, last;
};

/// Those that a query sees of the block's; a range of null pointers is all of them.
__device__ Keys keys_of(const KeyRange& range, int query, int keys) {
  if (range.first == nullptr) return {0, keys};
  return {max(range.first[query], 0), min(range.last[query], keys)};
}

/// From the first to the last that any of so many queries sees.
__device__ Keys keys_of_tile(const KeyRange& range, int first_query, int queries, int keys) {
  Keys seen{keys, 0};
  for (int i = 0; i < queries; ++i) {
    const Keys own = keys_of(range, first_query + i, keys);
    if (own.first >= own.last) continue;
    seen = {min(seen.first, own.first), max(seen.last, own.last)};
  }
  return seen;
}

/// Of keys `first` onwards, the scores of those that a query does not see.
__device__ void hide_unseen(const KeyRange& range, int first_query, int queries, int first, int keys,
                            Scores& scores) {
  for (int i = 0; i < own_rows; ++i) {
    if (own_row(i) >= queries) return;  // nobody reads what comes of these rows
    const Keys seen = keys_of(range, first_query + own_row(i), keys);
    for (int j = 0; j < own_keys; ++j) {
      const int key = first + own_column(j);
      if (key < seen.first || key >= seen.last) scores[i][j] = -INFINITY;
    }
  }
}

/// Over the threads that share a row.
__device__ float row_maximum(float value) {
  for (int distance = sharers / 2; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
  return value;
}

__device__ float row_sum(float value) {
  for (int distance = sharers / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

/// Lesson 04's step but for the values: m and l take in a tile of scores, o is rescaled, and each score
/// becomes its weight.
template <int head_dim>
__device__ void update_rows(Rows<head_dim>& own, Scores& scores) {
  for (int i = 0; i < own_rows; ++i) {
    float m = own.m[i];
    for (int j = 0; j < own_keys; ++j) m = fmaxf(m, scores[i][j]);
    m = row_maximum(m);
    const float shift = m == -INFINITY ? 0.0f : m;  // nothing seen yet, and exp(-inf) is 0
    const float rescale = expf(own.m[i] - shift);
    float sum = 0.0f;
    for (int j = 0; j < own_keys; ++j) {
      scores[i][j] = expf(scores[i][j] - shift);
      sum += scores[i][j];
    }
    own.m[i] = m;
    own.l[i] = own.l[i] * rescale + row_sum(sum);
    for (int c = 0; c < own.own_cols; ++c) own.o[i][c] *= rescale;
  }
}

template <int head_dim>
__device__ void add_values(const float* weights, const float* v_tile, Rows<head_dim>& own) {
  constexpr int stride = head_dim + padding;
  for (int j = 0; j < tile_keys; j += 4) {
    float4 weight[own_rows];
    for (int i = 0; i < own_rows; ++i) weight[i] = vector_at(weights + own_row(i) * weights_stride + j);
    for (int c = 0; c < own.own_cols; ++c) {
      const float* const values = v_tile + j * stride + own_column(c);
      const float4 value = make_float4(values[0], values[stride], values[2 * stride], values[3 * stride]);
      for (int i = 0; i < own_rows; ++i) own.o[i][c] += dot(weight[i], value);
    }
  }
}

template <int head_dim>
__global__ void attend(const float* q, const float* k, const float* v, KeyRange range, State state,
                       Shape shape, float scale) {
  extern __shared__ float4 shared[];
  float* const q_tile = reinterpret_cast<float*>(shared);
  float* const kv_tile = q_tile + tile_queries * (head_dim + padding);  // keys, then values
  float* const weights = kv_tile + tile_keys * (head_dim + padding);
  const size_t head = blockIdx.y;
  const int keys = shape.keys;
  k += head * keys * head_dim;
  v += head * keys * head_dim;
  const int first_query = blockIdx.x * tile_queries;
  const int queries = min(tile_queries, shape.queries - first_query);
  const size_t first_row = head * shape.queries + first_query;

  const Keys seen = keys_of_tile(range, first_query, queries, keys);
  if (seen.first >= seen.last) return;
  load_tile<head_dim>(q + first_row * head_dim, queries, tile_queries, q_tile);
  Rows<head_dim> own = read_state<head_dim>(state, first_row, queries);
  for (int first = seen.first / tile_keys * tile_keys; first < seen.last; first += tile_keys) {
    load_tile<head_dim>(k + static_cast<size_t>(first) * head_dim, keys - first, tile_keys, kv_tile);
    __syncthreads();
    Scores scores;
    compute_scores<head_dim>(q_tile, kv_tile, scale, scores);
    __syncthreads();  // the values overwrite the keys
    load_tile<head_dim>(v + static_cast<size_t>(first) * head_dim, keys - first, tile_keys, kv_tile);

    hide_unseen(range, first_query, queries, first, keys, scores);
    update_rows(own, scores);
    for (int i = 0; i < own_rows; ++i) {
      for (int j = 0; j < own_keys; ++j) weights[own_row(i) * weights_stride + own_column(j)] = scores[i][j];
    }
    __syncthreads();
    add_values(weights, kv_tile, own);
    __syncthreads();  // the next keys overwrite the values
  }
  write_state(own, state, first_row, queries);
}

template <int head_dim>
void launch(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
            const Shape& shape, cudaStream_t stream) {
  const dim3 grid((shape.queries + tile_queries - 1) / tile_queries, shape.heads);
  const int bytes = shared_bytes<head_dim>();
  const float scale = 1.0f / sqrtf(head_dim);
  course::cuda_check(
      cudaFuncSetAttribute(attend<head_dim>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  attend<head_dim><<<grid, block_threads, bytes, stream>>>(q, k, v, range, state, shape, scale);
  course::cuda_check(cudaGetLastError());
}

void launch_any(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                const Shape& shape, cudaStream_t stream) {
  if (shape.heads == 0 || shape.queries == 0 || shape.keys == 0) return;
  switch (shape.head_dim) {
    case 32:
      return launch<32>(q, k, v, range, state, shape, stream);
    case 64:
      return launch<64>(q, k, v, range, state, shape, stream);
    case 128:
      return launch<128>(q, k, v, range, state, shape, stream);
    default:
      throw std::invalid_argument("head_dim is " + std::to_string(shape.head_dim) +
                                  ", expected 32, 64 or 128");
  }
}

//< task 2
}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  //> task 1
  //| // A block of threads a query, a thread a column. Which queries have no l to divide by?
  //| throw course::NotImplemented("task 1, finish");
  const int rows = shape.heads * shape.queries;
  if (rows == 0) return;
  finish_rows<<<rows, shape.head_dim, 0, stream>>>(state, lse, shape.head_dim);
  course::cuda_check(cudaGetLastError());
  //< task 1
}

void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream) {
  //> task 2
  //| // A block of threads takes some queries of one head through all keys, a tile at a time. What has to lie in
  //| // shared memory, what can stay in registers, and between which two steps does everybody have to wait?
  //| throw course::NotImplemented("task 2, one block");
  launch_any(q, k, v, {nullptr, nullptr}, state, shape, stream);
  //< task 2
}

void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  //> task 3
  //| // The same kernel. What becomes of the score of a key that a query does not see, and of m while it has
  //| // seen none? Which tiles does nobody see?
  //| throw course::NotImplemented("task 3, a range of keys a query");
  launch_any(q, k, v, range, state, shape, stream);
  //< task 3
}

}  // namespace lesson10
