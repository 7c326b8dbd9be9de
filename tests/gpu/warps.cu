#include "programs.hpp"

namespace {

using course::gpu::programs::require;

constexpr unsigned all_lanes = 0xffffffff;

/// Runs a kernel of one block, and returns what it wrote, one number a thread.
template <class Kernel>
void run(Kernel kernel, int threads, int* made) {
  int* x = nullptr;
  require(cudaMalloc(&x, threads * sizeof(int)) == cudaSuccess);
  kernel<<<1, threads>>>(x);
  require(cudaMemcpy(made, x, threads * sizeof(int), cudaMemcpyDeviceToHost) == cudaSuccess);
  require(cudaFree(x) == cudaSuccess);
}

__global__ void every_shuffle(int* x) {
  const int lane = threadIdx.x % 32;
  const int from_3 = __shfl_sync(all_lanes, lane, 3);
  const int up = __shfl_up_sync(all_lanes, lane, 2);
  const int down = __shfl_down_sync(all_lanes, lane, 5, 16);
  const int across = __shfl_xor_sync(all_lanes, lane, 16);
  const int third_of_eight = __shfl_sync(all_lanes, lane, 2, 8);
  x[threadIdx.x] = from_3 + 100 * up + 10000 * down + 1000000 * across + 100000000 * (third_of_eight / 8);
}

PROGRAM(shuffles_give_the_value_of_their_lane) {
  int made[64];
  run(every_shuffle, 64, made);
  for (int i = 0; i < 64; ++i) {
    const int lane = i % 32;
    const int up = lane < 2 ? lane : lane - 2;
    const int down = lane % 16 < 11 ? lane + 5 : lane;
    require(made[i] == 3 + 100 * up + 10000 * down + 1000000 * (lane ^ 16) + 100000000 * (lane / 8));
  }
}

__global__ void every_vote(int* x) {
  const int lane = threadIdx.x;
  const unsigned low = __ballot_sync(all_lanes, lane < 5);
  x[lane] = low == 31 && __any_sync(all_lanes, lane == 7) && !__any_sync(all_lanes, false) &&
            __all_sync(all_lanes, lane < 32) && !__all_sync(all_lanes, lane < 31);
}

PROGRAM(votes_count_every_lane) {
  int made[32];
  run(every_vote, 32, made);
  for (const int right : made) require(right == 1);
}

__global__ void sums_in_two_groups(int* x) {
  const unsigned mask = threadIdx.x < 8 ? 0x000000ff : 0xffffff00;
  int sum = 1;
  if (threadIdx.x < 8) {
    for (int by = 4; by > 0; by /= 2) sum += __shfl_xor_sync(mask, sum, by, 8);
  } else {
    sum = __popc(__ballot_sync(mask, 1));
  }
  x[threadIdx.x] = sum;
}

PROGRAM(branches_shuffle_apart_with_masks_of_their_own) {
  int made[32];
  run(sums_in_two_groups, 32, made);
  require(made[0] == 8 && made[7] == 8 && made[8] == 24 && made[31] == 24);
}

__global__ void shuffles_with_who_is_not_there(int* x) {
  x[threadIdx.x] = __shfl_xor_sync(all_lanes, 1, 16);  // expect absent_lane
}

PROGRAM(lanes_beyond_the_block) {
  int made[48];
  run(shuffles_with_who_is_not_there, 48, made);
}

__global__ void shuffles_with_who_is_there(int* x) {
  x[threadIdx.x] = __shfl_xor_sync(0x0000ffff, 1, 8);
}

PROGRAM(half_a_warp_shuffles) {
  int made[16];
  run(shuffles_with_who_is_there, 16, made);
  require(made[15] == 1);
}

__global__ void takes_from_outside_the_mask(int* x) {
  x[threadIdx.x] = 0;
  if (threadIdx.x < 16) x[threadIdx.x] = __shfl_down_sync(0x0000ffff, 1, 8);  // expect absent_lane
}

PROGRAM(source_is_not_in_the_mask) {
  int made[32];
  run(takes_from_outside_the_mask, 32, made);
}

__global__ void shuffles_in_a_branch(int* x) {
  int value = 1;
  if (threadIdx.x < 16) value = __shfl_sync(all_lanes, value, 0);  // expect absent_lane
  __syncthreads();
  x[threadIdx.x] = value;
}

PROGRAM(mask_names_lanes_of_the_other_branch) {
  int made[32];
  run(shuffles_in_a_branch, 32, made);
}

__global__ void calls_without_itself(int* x) {
  x[threadIdx.x] = __shfl_sync(0x0000ffff, 1, threadIdx.x);  // expect absent_lane
}

PROGRAM(mask_without_the_caller) {
  int made[32];
  run(calls_without_itself, 32, made);
}

__global__ void ends_early(int* x) {
  x[threadIdx.x] = 7;
  if (threadIdx.x >= 20) return;
  x[threadIdx.x] = __popc(__ballot_sync(all_lanes, 1));
}

PROGRAM(lanes_that_have_ended_are_not_waited_for) {
  int made[32];
  run(ends_early, 32, made);
  require(made[0] == 20 && made[31] == 7);
}

__global__ void barrier_in_a_branch(int* x) {
  x[threadIdx.x] = 1;
  if (threadIdx.x < 32) __syncthreads();  // expect divergent_barrier
}

PROGRAM(barrier_is_divergent) {
  int made[64];
  run(barrier_in_a_branch, 64, made);
}

__global__ void a_barrier_in_each_branch(int* x) {
  x[threadIdx.x] = 1;
  if (threadIdx.x < 32)
    __syncthreads();  // expect divergent_barrier
  else
    __syncthreads();  // expect divergent_barrier
}

PROGRAM(two_barriers_are_not_one) {
  int made[64];
  run(a_barrier_in_each_branch, 64, made);
}

__global__ void barrier_in_a_common_branch(int* x) {
  x[threadIdx.x] = 1;
  if (blockDim.x == 64) __syncthreads();
}

PROGRAM(branch_that_all_take) {
  int made[64];
  run(barrier_in_a_common_branch, 64, made);
}

__global__ void shuffles_for_ever(int* x) {
  int value = threadIdx.x;
  for (int by = 16; by >= 0; by /= 2) value += __shfl_xor_sync(all_lanes, value, by);  // expect spinning
  x[threadIdx.x] = value;
}

PROGRAM(loop_around_a_shuffle_does_not_end) {
  int* x = nullptr;
  require(cudaMalloc(&x, 32 * sizeof(int)) == cudaSuccess);
  shuffles_for_ever<<<1, 32>>>(x);
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

__global__ void meets_for_ever() {
  while (true) __syncthreads();  // expect spinning
}

PROGRAM(loop_around_a_barrier_does_not_end) {
  meets_for_ever<<<1, 32>>>();
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

}  // namespace
