#include "programs.hpp"

namespace {

using course::gpu::programs::require;

/// So much device memory, zeros, freed at the end.
class Zeros {
 public:
  explicit Zeros(int count) {
    require(cudaMalloc(&x_, count * sizeof(float)) == cudaSuccess);
    require(cudaMemset(x_, 0, count * sizeof(float)) == cudaSuccess);
  }
  ~Zeros() { cudaFree(x_); }
  float* get() { return x_; }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  float at(int i) {
    float value;
    require(cudaMemcpy(&value, x_ + i, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess);
    return value;
  }

 private:
  float* x_ = nullptr;
};

__global__ void shifts_without_barrier(float* x) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = tile[(threadIdx.x + 1) % 64];  // expect race_in_block unwritten_read
}

PROGRAM(barrier_is_missing) {
  Zeros x(64);
  shifts_without_barrier<<<1, 64>>>(x.get());
}

/// Long enough, and called often enough, that a compiler would leave it a call, whose result it stores
/// without a word.
__device__ float4 sums_of(const float* x, int first) {
  float4 sums = make_float4(0, 0, 0, 0);
  for (int i = 0; i < 64; ++i) {
    sums.x += x[i];
    sums.y += x[i] * static_cast<float>(first);
    sums.z -= x[i];
    sums.w += x[i] / static_cast<float>(1 + first);
  }
  return first < 32 ? sums : make_float4(1, 2, 3, 4);
}

__global__ void stores_sums_without_barrier(const float* x, float4* y) {
  __shared__ float4 tile[64];
  tile[threadIdx.x] = sums_of(x, threadIdx.x);
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x];
  tile[(threadIdx.x + 1) % 64] = sums_of(x, threadIdx.x + 1);  // expect race_in_block
}

PROGRAM(result_of_a_call_stored_without_barrier) {
  float* x = nullptr;
  float4* y = nullptr;
  require(cudaMalloc(&x, 64 * sizeof(float)) == cudaSuccess);
  require(cudaMalloc(&y, 64 * sizeof(float4)) == cudaSuccess);
  require(cudaMemset(x, 0, 64 * sizeof(float)) == cudaSuccess);
  stores_sums_without_barrier<<<1, 64>>>(x, y);
  require(cudaFree(x) == cudaSuccess && cudaFree(y) == cudaSuccess);
}

__global__ void finds_the_largest_in_one_variable(float* x) {
  __shared__ float largest;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  largest = fmaxf(largest, x[threadIdx.x]);  // expect race_in_block
}

PROGRAM(all_threads_change_one_variable) {
  Zeros x(64);
  finds_the_largest_in_one_variable<<<1, 64>>>(x.get());
}

__global__ void all_write_one_entry(float* x) {
  x[0] = threadIdx.x;  // expect race_in_block
}

PROGRAM(all_threads_write_one_entry) {
  Zeros x(64);
  all_write_one_entry<<<1, 64>>>(x.get());
}

__global__ void puts_one_array_into_another(float* x) {
  __shared__ float room[96];
  float* const second = room + 32;
  room[threadIdx.x] = 1;
  second[threadIdx.x] = 2;  // expect race_in_block
  __syncthreads();
  x[threadIdx.x] = room[threadIdx.x] + second[threadIdx.x];
}

PROGRAM(two_arrays_overlap) {
  Zeros x(64);
  puts_one_array_into_another<<<1, 64>>>(x.get());
}

__device__ void fill(float* array, int first) {
  array[threadIdx.x] = static_cast<float>(first + threadIdx.x);  // expect race_in_block
}

__global__ void fills_two_arrays_on_one_line(float* x) {
  __shared__ float room[96];
  fill(room, 0);
  fill(room + 32, 100);
  __syncthreads();
  x[threadIdx.x] = room[threadIdx.x] + room[threadIdx.x + 32];
}

PROGRAM(one_line_fills_two_arrays_that_overlap) {
  Zeros x(64);
  fills_two_arrays_on_one_line<<<1, 64>>>(x.get());
}

__global__ void shifts(float* x) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[(threadIdx.x + 1) % 64];
}

PROGRAM(barrier_is_there) {
  Zeros x(64);
  shifts<<<1, 64>>>(x.get());
}

__global__ void uses_a_tile_twice(float* x, int rounds) {
  __shared__ float tile[64];
  for (int round = 0; round < rounds; ++round) {
    tile[threadIdx.x] = x[threadIdx.x];  // expect race_in_block
    __syncthreads();
    x[threadIdx.x] = tile[(threadIdx.x + 1) % 64] + 1;
  }
}

PROGRAM(barrier_is_missing_between_two_uses) {
  Zeros x(64);
  uses_a_tile_twice<<<1, 64>>>(x.get(), 2);
}

PROGRAM(one_use_needs_no_second_barrier) {
  Zeros x(64);
  shifts<<<1, 64>>>(x.get());
  shifts<<<1, 64>>>(x.get());
}

/// The last reader of each entry is its writer: who keeps one reader does not see it.
__global__ void adds_its_neighbour(float* x) {
  __shared__ float s[65];
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x == 0) s[64] = 0;
  __syncthreads();
  s[threadIdx.x] = s[threadIdx.x + 1] + s[threadIdx.x];  // expect race_in_block
  __syncthreads();
  x[threadIdx.x] = s[threadIdx.x];
}

PROGRAM(every_reader_counts) {
  Zeros x(64);
  adds_its_neighbour<<<1, 64>>>(x.get());
}

__global__ void neighbours_in_device_memory(float* x) {
  x[threadIdx.x] = 1;
  __syncthreads();
  const float next = x[(threadIdx.x + 1) % 64];
  __syncthreads();
  x[threadIdx.x] = next;
}

PROGRAM(barrier_orders_device_memory) {
  Zeros x(64);
  neighbours_in_device_memory<<<1, 64>>>(x.get());
}

__global__ void blocks_meet(float* x) {
  x[threadIdx.x] += 1;  // expect race_between_blocks
}

PROGRAM(lost_updates) {
  Zeros x(32);
  blocks_meet<<<2, 32>>>(x.get());
}

__global__ void blocks_meet_atomically(float* x) {
  atomicAdd(&x[threadIdx.x], 1);
}

PROGRAM(atomics_lose_none) {
  Zeros x(32);
  blocks_meet_atomically<<<3, 32>>>(x.get());
  require(x.at(31) == 3);
}

__global__ void block_reads_what_another_wrote(float* x) {
  if (blockIdx.x == 0) x[0] = 1;
  if (blockIdx.x == 1) x[1] = x[0];  // expect race_between_blocks
}

PROGRAM(blocks_of_a_launch_are_unordered) {
  Zeros x(2);
  block_reads_what_another_wrote<<<2, 1>>>(x.get());
}

__global__ void all_write_one(float* x) {
  x[0] = 1;  // expect race_in_block
}

PROGRAM(same_value_races_too) {
  Zeros x(1);
  all_write_one<<<1, 32>>>(x.get());
}

__global__ void one_writes_one(float* x) {
  if (threadIdx.x == 0) x[0] = 1;
}

PROGRAM(one_writer_alone) {
  Zeros x(1);
  one_writes_one<<<1, 32>>>(x.get());
}

__global__ void adds_and_reads(float* x) {
  atomicAdd(x, 1);
  x[1 + threadIdx.x] = x[0];  // expect race_in_block
}

PROGRAM(atomic_against_plain) {
  Zeros x(65);
  adds_and_reads<<<1, 64>>>(x.get());
}

__global__ void adds_then_reads(float* x) {
  atomicAdd(x, 1);
  __syncthreads();
  x[1 + threadIdx.x] = x[0];
}

PROGRAM(atomic_then_plain) {
  Zeros x(65);
  adds_then_reads<<<1, 64>>>(x.get());
  require(x.at(64) == 64);
}

__global__ void adds_within_its_block(float* x) {
  atomicAdd_block(x, 1);  // expect race_between_blocks
}

PROGRAM(scope_of_a_block_between_blocks) {
  Zeros x(1);
  adds_within_its_block<<<2, 1>>>(x.get());
}

__global__ void threads_add_within_their_block(float* x) {
  atomicAdd_block(&x[blockIdx.x], 1);
}

PROGRAM(scope_of_a_block_in_its_block) {
  Zeros x(2);
  threads_add_within_their_block<<<2, 64>>>(x.get());
}

__global__ void four_against_eight(unsigned long long* x) {
  if (threadIdx.x == 0) atomicAdd(x, 1);  // expect race_in_block
  if (threadIdx.x == 1) atomicAdd(reinterpret_cast<unsigned*>(x), 1);
}

PROGRAM(atomics_of_two_extents) {
  Zeros x(2);
  four_against_eight<<<1, 2>>>(reinterpret_cast<unsigned long long*>(x.get()));
}

__global__ void bytes_apart(char* x) {
  x[threadIdx.x] = static_cast<char>(threadIdx.x);
}

PROGRAM(bytes_of_a_word_are_apart) {
  char* x = nullptr;
  require(cudaMalloc(&x, 64) == cudaSuccess);
  bytes_apart<<<1, 64>>>(x);
  require(cudaFree(x) == cudaSuccess);
}

__global__ void byte_against_word(char* x, unsigned* words) {
  if (threadIdx.x == 0) words[0] = 7;
  if (threadIdx.x == 40) x[3] = 1;  // expect race_in_block
}

PROGRAM(byte_in_a_word) {
  char* x = nullptr;
  require(cudaMalloc(&x, 64) == cudaSuccess);
  byte_against_word<<<1, 64>>>(x, reinterpret_cast<unsigned*>(x));
  require(cudaFree(x) == cudaSuccess);
}

__global__ void warp_without_sync(float* x) {
  __shared__ float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[31 - threadIdx.x];  // expect race_in_block unwritten_read
}

PROGRAM(lanes_go_at_their_own_pace) {
  Zeros x(32);
  warp_without_sync<<<1, 32>>>(x.get());
}

__global__ void warp_with_sync(float* x) {
  __shared__ float s[64];
  for (int round = 0; round < 3; ++round) {
    s[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    x[threadIdx.x] = s[threadIdx.x ^ 31];
    __syncwarp();
  }
}

PROGRAM(syncwarp_orders_its_lanes) {
  Zeros x(64);
  warp_with_sync<<<1, 64>>>(x.get());
}

__global__ void two_warps_with_syncwarp(float* x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  x[threadIdx.x] = s[63 - threadIdx.x];  // expect race_in_block
}

PROGRAM(syncwarp_orders_no_other_warp) {
  Zeros x(64);
  two_warps_with_syncwarp<<<1, 64>>>(x.get());
}

__global__ void half_a_warp(float* x) {
  __shared__ float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp(threadIdx.x < 16 ? 0x0000ffff : 0xffff0000);
  x[threadIdx.x] = s[threadIdx.x ^ 15] + s[threadIdx.x ^ 31];  // expect race_in_block
}

PROGRAM(mask_leaves_half_the_warp_out) {
  Zeros x(32);
  half_a_warp<<<1, 32>>>(x.get());
}

__global__ void half_a_warp_alone(float* x) {
  __shared__ float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp(threadIdx.x < 16 ? 0x0000ffff : 0xffff0000);
  x[threadIdx.x] = s[threadIdx.x ^ 15];
}

PROGRAM(mask_covers_who_meets) {
  Zeros x(32);
  half_a_warp_alone<<<1, 32>>>(x.get());
}

__global__ void shuffles_for_a_barrier(float* x) {
  __shared__ float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  __shfl_xor_sync(0xffffffff, 1.0f, 1);
  x[threadIdx.x] = s[threadIdx.x ^ 1];  // expect race_in_block
}

PROGRAM(shuffle_orders_no_memory) {
  Zeros x(32);
  shuffles_for_a_barrier<<<1, 32>>>(x.get());
}

/// 40 threads read one word, the 41st overwrites it without a barrier.
__global__ void many_read_one(float* x, int writer) {
  __shared__ float s;
  if (threadIdx.x == 0) s = 1;
  __syncthreads();
  if (static_cast<int>(threadIdx.x) != writer) x[threadIdx.x] = s;
  if (static_cast<int>(threadIdx.x) == writer) s = 2;  // expect race_in_block
}

PROGRAM(writer_among_many_readers) {
  Zeros x(128);
  many_read_one<<<1, 128>>>(x.get(), 77);
}

__global__ void writes_its_own(float4* x) {
  x[blockIdx.x * blockDim.x + threadIdx.x] = make_float4(1, 2, 3, 4);
}

/// All warps read a word in the first phase, and one of them again in the second, in which another writes.
__global__ void is_written_beside_its_later_reader(const float* x, float* y) {
  __shared__ float word;
  if (threadIdx.x == 0) word = x[0];
  __syncthreads();
  float sum = word;
  __syncthreads();
  if (threadIdx.x == 32) sum += word;  // expect race_in_block
  if (threadIdx.x == 64) word = sum;   // expect race_in_block
  y[threadIdx.x] = sum;
}

PROGRAM(reader_of_the_second_phase_counts) {
  Zeros x(1), y(96);
  is_written_beside_its_later_reader<<<1, 96>>>(x.get(), y.get());
}

__global__ void is_written_behind_its_later_reader(const float* x, float* y) {
  __shared__ float word;
  if (threadIdx.x == 0) word = x[0];
  __syncthreads();
  float sum = word;
  __syncthreads();
  if (threadIdx.x / 32 == 1) sum += word;
  __syncthreads();
  if (threadIdx.x == 64) word = sum;
  y[threadIdx.x] = sum;
}

PROGRAM(reader_of_the_second_phase_is_done) {
  Zeros x(1), y(96);
  is_written_behind_its_later_reader<<<1, 96>>>(x.get(), y.get());
}

/// Each lane reads what one of them writes without a barrier.
__global__ void is_written_by_one_of_its_readers(const float* x, float* y) {
  __shared__ float word;
  if (threadIdx.x == 0) word = x[0];
  __syncthreads();
  float sum = word;
  __syncthreads();
  if (threadIdx.x == 9) sum += word;  // expect race_in_block
  if (threadIdx.x == 5) word = sum;   // expect race_in_block
  y[threadIdx.x] = sum;
}

PROGRAM(lanes_of_the_writer_s_warp_count) {
  Zeros x(1), y(32);
  is_written_by_one_of_its_readers<<<1, 32>>>(x.get(), y.get());
}

/// That the writer reads it as well makes it no better for the others of its warp.
__global__ void is_read_by_its_writer_first(float* x, float* y) {
  __shared__ float word;
  if (threadIdx.x == 0) word = x[0];
  __syncthreads();
  if (threadIdx.x == 3) word = 1;  // expect race_in_block
  if (threadIdx.x == 3) y[3] = word;
  if (threadIdx.x == 9) y[9] = word;  // expect race_in_block
}

PROGRAM(writer_that_reads_orders_nothing) {
  Zeros x(1), y(32);
  is_read_by_its_writer_first<<<1, 32>>>(x.get(), y.get());
}

/// A lane may write what it alone has read.
__global__ void is_written_by_its_only_reader(float* x) {
  float sum = x[threadIdx.x];
  __syncthreads();
  sum += x[threadIdx.x];
  x[threadIdx.x] = sum;
}

PROGRAM(only_reader_writes) {
  Zeros x(64);
  is_written_by_its_only_reader<<<1, 64>>>(x.get());
}

/// The first block reads in two phases, the second writes.
__global__ void is_written_by_another_block(float* x, float* y) {
  if (blockIdx.x == 1) {
    if (threadIdx.x == 0) x[0] = 1;  // expect race_between_blocks
    return;
  }
  float sum = x[0];
  __syncthreads();
  sum += x[0];
  y[threadIdx.x] = sum;
}

PROGRAM(readers_of_two_phases_and_another_block) {
  Zeros x(1), y(64);
  is_written_by_another_block<<<2, 64>>>(x.get(), y.get());
}

/// A tile that is filled and read in turns, by other lanes and by other warps.
__device__ void use_tile(float* tile, float* x) {
  for (int round = 0; round < 3; ++round) {
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[threadIdx.x ^ 1] + tile[63 - threadIdx.x];
    __syncthreads();
  }
}

__global__ void reads_a_used_tile_too_early(float* x) {
  __shared__ float tile[64];
  use_tile(tile, x);
  tile[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = tile[63 - threadIdx.x];  // expect race_in_block
}

PROGRAM(barrier_is_missing_in_a_used_tile) {
  Zeros x(64);
  reads_a_used_tile_too_early<<<1, 64>>>(x.get());
}

__global__ void reads_a_used_tile_of_its_warp_too_early(float* x) {
  __shared__ float tile[64];
  use_tile(tile, x);
  tile[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = tile[threadIdx.x ^ 1];  // expect race_in_block
}

PROGRAM(barrier_is_missing_in_a_warp_s_part_of_a_used_tile) {
  Zeros x(64);
  reads_a_used_tile_of_its_warp_too_early<<<1, 64>>>(x.get());
}

__global__ void two_lanes_write_a_word_of_a_used_tile(float* x) {
  __shared__ float tile[64];
  use_tile(tile, x);
  tile[threadIdx.x / 2] = threadIdx.x;  // expect race_in_block
}

PROGRAM(two_lanes_write_one_word_of_a_used_tile) {
  Zeros x(64);
  two_lanes_write_a_word_of_a_used_tile<<<1, 64>>>(x.get());
}

__global__ void writes_its_word_of_a_used_tile_twice(float* x) {
  __shared__ float tile[64];
  use_tile(tile, x);
  tile[threadIdx.x] = 1;
  __syncwarp();
  tile[threadIdx.x] += 1;
  __syncthreads();
  x[threadIdx.x] = tile[63 - threadIdx.x];
}

PROGRAM(one_lane_writes_its_word_of_a_used_tile_twice) {
  Zeros x(64);
  writes_its_word_of_a_used_tile_twice<<<1, 64>>>(x.get());
}

/// Most blocks read, in a drawn order, and one writes.
__global__ void is_written_by_one_of_many_blocks(float* x, float* y) {
  if (blockIdx.x == 4)
    x[0] = 1;  // expect race_between_blocks
  else
    y[blockIdx.x] = x[0];
}

PROGRAM(readers_of_many_blocks_and_another_block) {
  Zeros x(1), y(9);
  is_written_by_one_of_many_blocks<<<9, 1>>>(x.get(), y.get());
}

PROGRAM(kernel_end_orders_within_a_stream) {
  Zeros x(256);
  writes_its_own<<<2, 32>>>(reinterpret_cast<float4*>(x.get()));
  blocks_meet_atomically<<<1, 32>>>(x.get());
  shifts<<<1, 64>>>(x.get());
}

}  // namespace
