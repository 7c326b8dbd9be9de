#include "programs.hpp"

// What counts_test.cpp knows the counts of.

namespace {

using course::gpu::programs::require;

constexpr int lanes = 32;
constexpr int floats = lanes * lanes * 4;
constexpr unsigned all_lanes = 0xffffffffu;

/// Device memory that somebody has written to.
struct Memory {
  Memory() {
    require(cudaMalloc(&x, floats * sizeof(float)) == cudaSuccess);
    require(cudaMemset(x, 0, floats * sizeof(float)) == cudaSuccess);
  }
  ~Memory() { cudaFree(x); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  float* x = nullptr;
};

__global__ void write(float* x, int stride, int first) {
  x[threadIdx.x * stride + first] = 1.0f;
}

void write_once(int threads, int stride, int first) {
  const Memory memory;
  write<<<1, threads>>>(memory.x, stride, first);
  require(cudaDeviceSynchronize() == cudaSuccess);
}

PROGRAM(counts_coalesced) {
  write_once(lanes, 1, 0);
}

PROGRAM(counts_stride_32) {
  write_once(lanes, 32, 0);
}

PROGRAM(counts_misaligned) {
  write_once(lanes, 1, 1);
}

PROGRAM(counts_partial_warp) {
  write_once(20, 1, 0);
}

PROGRAM(counts_two_warps_and_a_part) {
  write_once(2 * lanes + 8, 1, 0);
}

__global__ void copy(const float* x, float* y, int index) {
  y[threadIdx.x] = x[threadIdx.x * index];
}

PROGRAM(counts_reads_and_writes_of_two_kernels) {
  const Memory from, to;
  for (const int threads : {1, 2}) copy<<<1, threads>>>(from.x, to.x, 1);
  write<<<1, lanes>>>(to.x, 1, 0);
  require(cudaDeviceSynchronize() == cudaSuccess);
}

PROGRAM(counts_one_word_for_all) {
  const Memory from, to;
  copy<<<1, lanes>>>(from.x, to.x, 0);
  require(cudaDeviceSynchronize() == cudaSuccess);
}

__global__ void copy_vectors(const float4* x, float4* y) {
  y[threadIdx.x] = x[threadIdx.x];
}

PROGRAM(counts_float4) {
  const Memory from, to;
  copy_vectors<<<1, lanes>>>(reinterpret_cast<const float4*>(from.x), reinterpret_cast<float4*>(to.x));
  require(cudaDeviceSynchronize() == cudaSuccess);
}

/// The compiler may put the four together: they are no float4 for that.
__global__ void copy_four_floats(const float* x, float* y) {
  for (int i = 0; i < 4; ++i) y[4 * threadIdx.x + i] = x[4 * threadIdx.x + i];
}

PROGRAM(counts_four_floats) {
  const Memory from, to;
  copy_four_floats<<<1, lanes>>>(from.x, to.x);
  require(cudaDeviceSynchronize() == cudaSuccess);
}

__global__ void copy_by_call(const float* x, float* y, int count) {
  memcpy(y + count * threadIdx.x, x + count * threadIdx.x, count * sizeof(float));
}

PROGRAM(counts_memcpy) {
  const Memory from, to;
  copy_by_call<<<1, lanes>>>(from.x, to.x, 3);
  require(cudaDeviceSynchronize() == cudaSuccess);
}

__global__ void write_for_long(float* x, int times) {
  for (int i = 0; i < times; ++i) x[i % floats] = 1.0f;
}

/// More than are kept open.
PROGRAM(counts_a_thread_that_never_meets_another) {
  const Memory memory;
  write_for_long<<<1, 1>>>(memory.x, 300'000);
  require(cudaDeviceSynchronize() == cudaSuccess);
}

__noinline__ __device__ void put(float* x, int index) {
  x[index] = 1.0f;
}

__global__ void write_in_two_branches(float* x) {
  if (threadIdx.x % 2 == 0)
    put(x, threadIdx.x);
  else
    x[2 * lanes + threadIdx.x] = 1.0f;
}

PROGRAM(counts_divergent_lanes) {
  const Memory memory;
  write_in_two_branches<<<1, lanes>>>(memory.x);
  require(cudaDeviceSynchronize() == cudaSuccess);
}

__global__ void write_ever_more(float* x) {
  for (int row = 0; row <= threadIdx.x; ++row) x[row * lanes + threadIdx.x] = 1.0f;
}

PROGRAM(counts_loops_of_different_lengths) {
  const Memory memory;
  write_ever_more<<<1, lanes>>>(memory.x);
  require(cudaDeviceSynchronize() == cudaSuccess);
}

enum class Meeting { None, Barrier, SyncWarp, Shuffle, Halves, HalvesThenAll };

/// Lane 0 comes to the place once more than the others, before they meet.
__global__ void put_after_lane_0(float* x, Meeting meeting) {
  const unsigned half = threadIdx.x < lanes / 2 ? 0x0000ffffu : 0xffff0000u;
  if (threadIdx.x == 0) put(x, 16 * lanes);
  if (meeting == Meeting::Barrier) __syncthreads();
  if (meeting == Meeting::SyncWarp) __syncwarp();
  if (meeting == Meeting::Shuffle) __shfl_xor_sync(all_lanes, 1, 1);
  if (meeting == Meeting::Halves || meeting == Meeting::HalvesThenAll) __syncwarp(half);
  if (meeting == Meeting::HalvesThenAll) __syncwarp();
  put(x, threadIdx.x);
}

void put_around(Meeting meeting) {
  const Memory memory;
  put_after_lane_0<<<1, lanes>>>(memory.x, meeting);
  require(cudaDeviceSynchronize() == cudaSuccess);
}

PROGRAM(counts_lanes_that_do_not_meet) {
  put_around(Meeting::None);
}

PROGRAM(counts_lanes_that_meet_at_a_barrier) {
  put_around(Meeting::Barrier);
}

PROGRAM(counts_lanes_that_meet_in_syncwarp) {
  put_around(Meeting::SyncWarp);
}

PROGRAM(counts_lanes_that_meet_in_a_shuffle) {
  put_around(Meeting::Shuffle);
}

PROGRAM(counts_halves_that_meet) {
  put_around(Meeting::Halves);
}

PROGRAM(counts_halves_that_meet_and_then_all) {
  put_around(Meeting::HalvesThenAll);
}

__global__ void put_after_others_return(float* x) {
  if (threadIdx.x >= lanes / 2) return;
  if (threadIdx.x == 0) put(x, 16 * lanes);
  __syncwarp(0x0000ffffu);
  put(x, threadIdx.x);
}

PROGRAM(counts_lanes_that_are_left) {
  const Memory memory;
  put_after_others_return<<<1, lanes>>>(memory.x);
  require(cudaDeviceSynchronize() == cudaSuccess);
}

__global__ void add_atomically(float* x) {
  atomicAdd(x + threadIdx.x % 16, 1.0f);
}

PROGRAM(counts_atomics) {
  const Memory memory;
  add_atomically<<<1, lanes>>>(memory.x);
  require(cudaDeviceSynchronize() == cudaSuccess);
}

/// Each lane writes an entry of shared memory and reads one.
__global__ void through_shared(float* y, int written, int read) {
  __shared__ float shared[lanes * (lanes + 1)];
  shared[threadIdx.x * written] = 1.0f;
  __syncthreads();
  y[threadIdx.x] = shared[threadIdx.x * read];
}

void use_shared(int threads, int written, int read) {
  const Memory to;
  through_shared<<<1, threads>>>(to.x, written, read);
  require(cudaDeviceSynchronize() == cudaSuccess);
}

PROGRAM(counts_shared_row) {
  use_shared(lanes, 1, 1);
}

PROGRAM(counts_shared_word_for_all) {
  use_shared(lanes, 1, 0);
}

PROGRAM(counts_shared_stride_2) {
  use_shared(lanes, 2, 2);
}

PROGRAM(counts_shared_column) {
  use_shared(lanes, lanes, lanes);
}

PROGRAM(counts_shared_padded_column) {
  use_shared(lanes, lanes + 1, lanes + 1);
}

PROGRAM(counts_shared_column_of_a_partial_warp) {
  use_shared(20, lanes, lanes);
}

template <class Vector>
__global__ void vectors_through_shared(const Vector* x, Vector* y, int stride) {
  __shared__ Vector shared[lanes * 10];
  shared[threadIdx.x * stride] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = shared[threadIdx.x * stride];
}

/// `stride` in vectors.
template <class Vector>
void use_shared_vectors(int stride) {
  const Memory from, to;
  vectors_through_shared<<<1, lanes>>>(reinterpret_cast<const Vector*>(from.x),
                                       reinterpret_cast<Vector*>(to.x), stride);
  require(cudaDeviceSynchronize() == cudaSuccess);
}

PROGRAM(counts_shared_float4_row) {
  use_shared_vectors<float4>(1);
}

PROGRAM(counts_shared_float4_column) {
  use_shared_vectors<float4>(8);
}

PROGRAM(counts_shared_float4_padded_column) {
  use_shared_vectors<float4>(9);
}

PROGRAM(counts_shared_float2_row) {
  use_shared_vectors<float2>(1);
}

PROGRAM(counts_shared_float2_stride_2) {
  use_shared_vectors<float2>(2);
}

}  // namespace
