// right: two buffers for keys and values in turn, so a tile has one barrier; weights go by shuffles; each thread keeps its own part of l until the end
#include <cmath>
#include <stdexcept>
#include <string>

#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"

namespace lesson10 {

namespace {

// 16 threads, a team, share the rows team, team + 8, ... of 64. Member t has keys 2 t and 2 t + 1 of a tile of
// 32, and D / 16 neighbouring columns of o.
constexpr unsigned all_lanes = 0xffffffffu;
constexpr float log2_e = 1.44269504088896341f;
constexpr int tile_queries = 64;
constexpr int tile_keys = 32;
constexpr int members = 16;
constexpr int threads = 128;
constexpr int teams = threads / members;
constexpr int rows_of_team = tile_queries / teams;

template <int D>
struct Room {
  static constexpr int stride = D + 4;
  static constexpr int buffer = tile_keys * stride + tile_keys * D;    // keys, then values
  static constexpr int floats = tile_queries * stride + 2 * buffer;
};

template <int D>
__device__ void load_keys_and_values(float* buffer, const float* k, const float* v, int rows) {
  float* values = buffer + tile_keys * Room<D>::stride;
  for (int x = 4 * static_cast<int>(threadIdx.x); x < tile_keys * D; x += 4 * threads) {
    const int row = x / D;
    const int col = x % D;
    float4 key = make_float4(0.f, 0.f, 0.f, 0.f);
    float4 value = make_float4(0.f, 0.f, 0.f, 0.f);
    if (row < rows) {
      key = *reinterpret_cast<const float4*>(k + x);
      value = *reinterpret_cast<const float4*>(v + x);
    }
    *reinterpret_cast<float4*>(buffer + row * Room<D>::stride + col) = key;
    *reinterpret_cast<float4*>(values + x) = value;
  }
}

template <int D>
__global__ void attend_tiles(const float* q, const float* k, const float* v, KeyRange range, State state,
                             Shape shape) {
  constexpr int columns = D / members;
  constexpr int stride = Room<D>::stride;
  extern __shared__ float4 room[];
  float* const q_tile = reinterpret_cast<float*>(room);
  float* const buffers = q_tile + tile_queries * stride;

  const int t = static_cast<int>(threadIdx.x) % members;
  const int team = static_cast<int>(threadIdx.x) / members;
  const int query0 = static_cast<int>(blockIdx.x) * tile_queries;
  const int here = min(tile_queries, shape.queries - query0);
  const int row_q = static_cast<int>(blockIdx.y) * shape.queries + query0;
  const int row_k = static_cast<int>(blockIdx.y) * shape.keys;

  int lo = shape.keys;
  int hi = 0;
  if (range.first == nullptr) {
    lo = 0;
    hi = shape.keys;
  } else {
    for (int i = 0; i < here; ++i) {
      const int a = max(range.first[query0 + i], 0);
      const int b = min(range.last[query0 + i], shape.keys);
      lo = a < b ? min(lo, a) : lo;
      hi = a < b ? max(hi, b) : hi;
    }
  }
  if (lo >= hi) return;

  for (int x = 4 * static_cast<int>(threadIdx.x); x < tile_queries * D; x += 4 * threads) {
    float4 piece = make_float4(0.f, 0.f, 0.f, 0.f);
    if (x / D < here) piece = *reinterpret_cast<const float4*>(q + row_q * D + x);
    *reinterpret_cast<float4*>(q_tile + x / D * stride + x % D) = piece;
  }

  float m[rows_of_team];
  float part_of_l[rows_of_team];
  float o[rows_of_team][columns];
  int from[rows_of_team];
  int to[rows_of_team];
  for (int r = 0; r < rows_of_team; ++r) {
    const int row = team + teams * r;
    const bool exists = row < here;
    m[r] = exists ? state.m[row_q + row] : -INFINITY;
    // The sum over the team is taken once, at the end: what was there before may be in it once.
    part_of_l[r] = exists && t == 0 ? state.l[row_q + row] : 0.f;
    for (int c = 0; c < columns; ++c) o[r][c] = exists ? state.o[(row_q + row) * D + t * columns + c] : 0.f;
    from[r] = 0;
    to[r] = exists ? shape.keys : 0;
    if (exists && range.first != nullptr) {
      from[r] = range.first[query0 + row];
      to[r] = min(range.last[query0 + row], shape.keys);
    }
  }

  const float scale = 1.f / sqrtf(static_cast<float>(D));
  load_keys_and_values<D>(buffers, k + (row_k + lo) * D, v + (row_k + lo) * D, hi - lo);
  int turn = 0;
  for (int key0 = lo; key0 < hi; key0 += tile_keys) {
    // This buffer is there, and everybody is done with the other one.
    __syncthreads();
    const float* const keys = buffers + turn * Room<D>::buffer;
    const float* const values = keys + tile_keys * stride;
    turn = 1 - turn;
    const int next = key0 + tile_keys;
    if (next < hi) {
      load_keys_and_values<D>(buffers + turn * Room<D>::buffer, k + (row_k + next) * D,
                              v + (row_k + next) * D, hi - next);
    }

    float s[rows_of_team][2] = {};
    for (int c = 0; c < D; c += 4) {
      const float4 k0 = *reinterpret_cast<const float4*>(keys + 2 * t * stride + c);
      const float4 k1 = *reinterpret_cast<const float4*>(keys + (2 * t + 1) * stride + c);
      for (int r = 0; r < rows_of_team; ++r) {
        const float4 x = *reinterpret_cast<const float4*>(q_tile + (team + teams * r) * stride + c);
        s[r][0] += x.x * k0.x + x.y * k0.y + x.z * k0.z + x.w * k0.w;
        s[r][1] += x.x * k1.x + x.y * k1.y + x.z * k1.z + x.w * k1.w;
      }
    }

    for (int r = 0; r < rows_of_team; ++r) {
      float top = m[r];
      for (int x = 0; x < 2; ++x) {
        const int key = key0 + 2 * t + x;
        s[r][x] = key < from[r] || key >= to[r] ? -INFINITY : s[r][x] * scale;
        top = fmaxf(top, s[r][x]);
      }
      for (int distance = 1; distance < members; distance *= 2)
        top = fmaxf(top, __shfl_xor_sync(all_lanes, top, distance));
      const float minus = top == -INFINITY ? 0.f : top;
      const float factor = exp2f((m[r] - minus) * log2_e);
      s[r][0] = exp2f((s[r][0] - minus) * log2_e);
      s[r][1] = exp2f((s[r][1] - minus) * log2_e);
      m[r] = top;
      part_of_l[r] = part_of_l[r] * factor + s[r][0] + s[r][1];
      for (int c = 0; c < columns; ++c) o[r][c] *= factor;
    }

    for (int owner = 0; owner < members; ++owner) {
      for (int x = 0; x < 2; ++x) {
        const float* const value = values + (2 * owner + x) * D + t * columns;
        for (int r = 0; r < rows_of_team; ++r) {
          const float w = __shfl_sync(all_lanes, s[r][x], owner, members);
          for (int c = 0; c < columns; ++c) o[r][c] += w * value[c];
        }
      }
    }
  }

  for (int r = 0; r < rows_of_team; ++r) {
    float l = part_of_l[r];
    for (int distance = 1; distance < members; distance *= 2) l += __shfl_xor_sync(all_lanes, l, distance);
    const int row = team + teams * r;
    if (row >= here) continue;
    for (int c = 0; c < columns; ++c) state.o[(row_q + row) * D + t * columns + c] = o[r][c];
    if (t == 0) {
      state.m[row_q + row] = m[r];
      state.l[row_q + row] = l;
    }
  }
}

template <int D>
void launch(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
            const Shape& shape, cudaStream_t stream) {
  const int bytes = Room<D>::floats * static_cast<int>(sizeof(float));
  course::cuda_check(
      cudaFuncSetAttribute(attend_tiles<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const dim3 grid((shape.queries + tile_queries - 1) / tile_queries, shape.heads);
  attend_tiles<D><<<grid, threads, bytes, stream>>>(q, k, v, range, state, shape);
  course::cuda_check(cudaGetLastError());
}

void attend(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
            const Shape& shape, cudaStream_t stream) {
  if (shape.heads == 0 || shape.queries == 0 || shape.keys == 0) return;
  switch (shape.head_dim) {
    case 32: return launch<32>(q, k, v, range, state, shape, stream);
    case 64: return launch<64>(q, k, v, range, state, shape, stream);
    case 128: return launch<128>(q, k, v, range, state, shape, stream);
    default: throw std::runtime_error("head_dim " + std::to_string(shape.head_dim) + " has no kernel");
  }
}

__global__ void finish_piece(float4* o, const float* m, const float* l, float* lse) {
  // blockDim.x is the number of pieces of a row
  const unsigned row = blockIdx.x;
  const float sum = l[row];
  float4 x = make_float4(0.f, 0.f, 0.f, 0.f);
  if (sum > 0.f) {
    x = o[row * blockDim.x + threadIdx.x];
    x = make_float4(x.x / sum, x.y / sum, x.z / sum, x.w / sum);
  }
  o[row * blockDim.x + threadIdx.x] = x;
  if (threadIdx.x == 0) lse[row] = sum > 0.f ? m[row] + logf(sum) : -INFINITY;
}

}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  const int rows = shape.heads * shape.queries;
  if (rows == 0) return;
  finish_piece<<<rows, shape.head_dim / 4, 0, stream>>>(reinterpret_cast<float4*>(state.o), state.m, state.l,
                                                        lse);
  course::cuda_check(cudaGetLastError());
}

void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream) {
  const KeyRange every_key = {nullptr, nullptr};
  attend(q, k, v, every_key, state, shape, stream);
}

void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  attend(q, k, v, range, state, shape, stream);
}

}  // namespace lesson10
