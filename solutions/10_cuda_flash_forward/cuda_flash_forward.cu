#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"
#include "lesson/not_implemented.hpp"

namespace lesson10 {

namespace {

//> task 1
__global__ void finish_rows(const float* m, const float* l, float* o, float* lse, int rows, int head_dim) {
  const int row = blockIdx.x;
  const int col = threadIdx.x;
  float& entry = o[static_cast<size_t>(row) * head_dim + col];
  entry = l[row] == 0.0f ? 0.0f : entry / l[row];
  if (col == 0) lse[row] = m[row] + logf(l[row]);
}

//< task 1
//> task 2
// A block of 128 threads, 16 columns of 8, takes 64 queries of a head through all keys, 64 at a time. Of a
// tile of scores, a thread has 8 rows and every 16th of 64 keys; of the output, the same 8 rows and a 16th of
// the columns. What all threads read lies in shared memory, each row 4 floats longer than it need be, so
// that 8 rows in a row lie in different banks.
constexpr int tile = 64;
constexpr int columns = 16, own_rows = 8, own_keys = tile / columns;
constexpr int threads = columns * tile / own_rows;
constexpr int padding = 4;
constexpr int score_stride = tile + padding;

template <int head_dim>
constexpr int shared_floats = 2 * tile*(head_dim + padding) + tile* score_stride;

/// Rows `first` to `first + tile` of `from` [rows, head_dim], times `factor`, into shared memory; zeros past
/// the last.
template <int head_dim>
__device__ void load_rows(const float* from, int first, int rows, float factor, float* to) {
  constexpr int vectors = head_dim / 4;
  for (int i = threadIdx.x; i < tile * vectors; i += threads) {
    const int row = i / vectors, vector = i % vectors;
    float4 entries = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (first + row < rows) {
      entries = reinterpret_cast<const float4*>(from + static_cast<size_t>(first + row) * head_dim)[vector];
      entries = make_float4(entries.x * factor, entries.y * factor, entries.z * factor, entries.w * factor);
    }
    reinterpret_cast<float4*>(to + row * (head_dim + padding))[vector] = entries;
  }
}

__device__ float4 vector_at(const float* row, int col) {
  return *reinterpret_cast<const float4*>(row + col);
}

__device__ float dot(float4 a, float4 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

/// Over the 16 threads that share rows.
__device__ float row_maximum(float value) {
  for (int distance = columns / 2; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
  return value;
}

__device__ float row_sum(float value) {
  for (int distance = columns / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

template <int head_dim>
__global__ void attend(const float* q, const float* k, const float* v, KeyRange range, State state,
                       int queries, int keys, float scale) {
  extern __shared__ float shared[];
  constexpr int stride = head_dim + padding;
  constexpr int own_cols = head_dim / columns;
  float* const q_tile = shared;
  float* const kv_tile = q_tile + tile * stride;  // keys, then values
  float* const scores = kv_tile + tile * stride;
  const int column = threadIdx.x % columns;
  const int top = threadIdx.x / columns * own_rows;
  const int first_query = blockIdx.x * tile;
  const size_t head = blockIdx.y;
  q += head * queries * head_dim;
  k += head * keys * head_dim;
  v += head * keys * head_dim;
  const size_t first_row = head * queries + first_query + top;

  float m[own_rows], l[own_rows], o[own_rows][own_cols];
  int first_key[own_rows], last_key[own_rows];
  int begin = keys, end = 0;
  for (int i = 0; i < own_rows; ++i) {
    const bool is_query = first_query + top + i < queries;
    m[i] = is_query ? state.m[first_row + i] : -INFINITY;
    l[i] = is_query ? state.l[first_row + i] : 0.0f;
    first_key[i] = is_query ? range.first[first_query + top + i] : keys;
    last_key[i] = is_query ? range.last[first_query + top + i] : 0;
    if (first_key[i] < last_key[i]) {
      begin = min(begin, first_key[i]);
      end = max(end, last_key[i]);
    }
    for (int c = 0; c < own_cols; ++c)
      o[i][c] = is_query ? state.o[(first_row + i) * head_dim + column * own_cols + c] : 0.0f;
  }
  load_rows<head_dim>(q, first_query, queries, scale, q_tile);

  for (int first = 0; first < keys; first += tile) {
    // Nobody overwrites a tile that somebody still reads; and no thread works on one that none of them sees.
    if (!__syncthreads_or(begin < first + tile && first < end)) continue;
    load_rows<head_dim>(k, first, keys, 1.0f, kv_tile);
    __syncthreads();

    float s[own_rows][own_keys] = {};
    for (int c = 0; c < head_dim; c += 4) {
      float4 key[own_keys];
      for (int j = 0; j < own_keys; ++j) key[j] = vector_at(kv_tile + (column + columns * j) * stride, c);
      for (int i = 0; i < own_rows; ++i) {
        const float4 query = vector_at(q_tile + (top + i) * stride, c);
        for (int j = 0; j < own_keys; ++j) s[i][j] += dot(query, key[j]);
      }
    }
    __syncthreads();
    load_rows<head_dim>(v, first, keys, 1.0f, kv_tile);

    for (int i = 0; i < own_rows; ++i) {
      float largest = m[i];
      for (int j = 0; j < own_keys; ++j) {
        const int key = first + column + columns * j;
        if (key < first_key[i] || key >= last_key[i]) s[i][j] = -INFINITY;
        largest = fmaxf(largest, s[i][j]);
      }
      largest = row_maximum(largest);
      const float shift = largest == -INFINITY ? 0.0f : largest;  // nothing seen yet: exp(-inf) is 0
      const float rescale = expf(m[i] - shift);
      float sum = 0.0f;
      for (int j = 0; j < own_keys; ++j) {
        const float weight = expf(s[i][j] - shift);
        scores[(top + i) * score_stride + column + columns * j] = weight;
        sum += weight;
      }
      m[i] = largest;
      l[i] = l[i] * rescale + row_sum(sum);
      for (int c = 0; c < own_cols; ++c) o[i][c] *= rescale;
    }
    __syncthreads();

    for (int j = 0; j < tile; j += 4) {
      float value[4][own_cols];
      for (int n = 0; n < 4; ++n) {
        for (int c = 0; c < own_cols; ++c) value[n][c] = kv_tile[(j + n) * stride + column * own_cols + c];
      }
      for (int i = 0; i < own_rows; ++i) {
        const float4 weight = vector_at(scores + (top + i) * score_stride, j);
        for (int c = 0; c < own_cols; ++c) {
          o[i][c] += weight.x * value[0][c] + weight.y * value[1][c] + weight.z * value[2][c] +
                     weight.w * value[3][c];
        }
      }
    }
  }

  for (int i = 0; i < own_rows; ++i) {
    if (first_query + top + i >= queries) break;
    for (int c = 0; c < own_cols; ++c) state.o[(first_row + i) * head_dim + column * own_cols + c] = o[i][c];
    if (column == 0) {
      state.m[first_row + i] = m[i];
      state.l[first_row + i] = l[i];
    }
  }
}

template <int head_dim>
void launch(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
            const Shape& shape, cudaStream_t stream) {
  const dim3 grid((shape.queries + tile - 1) / tile, shape.heads);
  const int bytes = shared_floats<head_dim> * static_cast<int>(sizeof(float));
  course::cuda_check(
      cudaFuncSetAttribute(attend<head_dim>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const float scale = 1.0f / sqrtf(head_dim);
  attend<head_dim><<<grid, threads, bytes, stream>>>(q, k, v, range, state, shape.queries, shape.keys, scale);
  course::cuda_check(cudaGetLastError());
}

//< task 2
}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  //> task 1
  //| // An entry a thread. Which rows have an l to divide by?
  //| throw course::NotImplemented("task 1, finish");
  const int rows = shape.heads * shape.queries;
  if (rows == 0) return;
  finish_rows<<<rows, shape.head_dim, 0, stream>>>(state.m, state.l, state.o, lse, rows, shape.head_dim);
  course::cuda_check(cudaGetLastError());
  //< task 1
}

void attend_block(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  //> task 2
  //| // A block of threads takes some queries of one head through all keys, a tile at a time: scores, maximum,
  //| // weights, sums. What has to lie in shared memory, and what can stay in registers?
  //| throw course::NotImplemented("task 2, attend_block");
  if (shape.heads == 0 || shape.queries == 0 || shape.keys == 0) return;
  if (shape.head_dim == 32) launch<32>(q, k, v, range, state, shape, stream);
  if (shape.head_dim == 64) launch<64>(q, k, v, range, state, shape, stream);
  if (shape.head_dim == 128) launch<128>(q, k, v, range, state, shape, stream);
  //< task 2
}

}  // namespace lesson10
