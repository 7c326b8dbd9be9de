#include "cuda_softmax.hpp"
#include "lesson/cuda_check.hpp"
#include "lesson/not_implemented.hpp"

namespace lesson09 {

namespace {

constexpr int warp_lanes = 32;
constexpr unsigned all_lanes = 0xffffffffu;
constexpr int block_threads = 256;
constexpr int block_warps = block_threads / warp_lanes;

//> task 1
/// The largest of the lanes' values, in every lane.
__device__ float warp_maximum(float value) {
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(all_lanes, value, distance));
  return value;
}

/// The sum of the lanes' values, in every lane.
__device__ float warp_sum(float value) {
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(all_lanes, value, distance);
  return value;
}

__global__ void logsumexp_rows(const float* x, float* lse, int rows, int cols) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / warp_lanes;
  const int lane = threadIdx.x % warp_lanes;
  if (row >= rows) return;
  const float* scores = x + static_cast<size_t>(row) * cols;
  float m = -INFINITY;
  for (int j = lane; j < cols; j += warp_lanes) m = fmaxf(m, scores[j]);
  m = warp_maximum(m);
  float l = 0.0f;
  if (m != -INFINITY) {
    for (int j = lane; j < cols; j += warp_lanes) l += expf(scores[j] - m);
  }
  l = warp_sum(l);
  if (lane == 0) lse[row] = m + logf(l);
}

//< task 1
//> task 2
/// The largest of the values of all threads of the block, in every thread. `of_warp` has an entry a warp.
__device__ float block_maximum(float value, float* of_warp) {
  value = warp_maximum(value);
  if (threadIdx.x % warp_lanes == 0) of_warp[threadIdx.x / warp_lanes] = value;
  __syncthreads();
  for (int warp = 0; warp < block_warps; ++warp) value = fmaxf(value, of_warp[warp]);
  __syncthreads();
  return value;
}

/// Their sum, in every thread.
__device__ float block_sum(float value, float* of_warp) {
  value = warp_sum(value);
  if (threadIdx.x % warp_lanes == 0) of_warp[threadIdx.x / warp_lanes] = value;
  __syncthreads();
  float sum = 0.0f;
  for (int warp = 0; warp < block_warps; ++warp) sum += of_warp[warp];
  __syncthreads();
  return sum;
}

__global__ void softmax_rows(const float* x, float* p, int cols) {
  __shared__ float of_warp[block_warps];
  const float* scores = x + static_cast<size_t>(blockIdx.x) * cols;
  float* weights = p + static_cast<size_t>(blockIdx.x) * cols;
  float m = -INFINITY;
  for (int j = threadIdx.x; j < cols; j += block_threads) m = fmaxf(m, scores[j]);
  m = block_maximum(m, of_warp);
  if (m == -INFINITY) {
    for (int j = threadIdx.x; j < cols; j += block_threads) weights[j] = 0.0f;
    return;
  }
  float l = 0.0f;
  for (int j = threadIdx.x; j < cols; j += block_threads) l += expf(scores[j] - m);
  l = block_sum(l, of_warp);
  for (int j = threadIdx.x; j < cols; j += block_threads) weights[j] = expf(scores[j] - m) / l;
}

//< task 2
}  // namespace

void logsumexp(const float* x, float* lse, int rows, int cols, cudaStream_t stream) {
  //> task 1
  //| // A kernel whose warps take a row each: m by shuffles, then l. How many blocks are `rows` warps?
  //| throw course::NotImplemented("task 1, logsumexp");
  if (rows == 0) return;
  const int blocks = (rows + block_warps - 1) / block_warps;
  logsumexp_rows<<<blocks, block_threads, 0, stream>>>(x, lse, rows, cols);
  course::cuda_check(cudaGetLastError());
  //< task 1
}

void softmax(const float* x, float* p, int rows, int cols, cudaStream_t stream) {
  //> task 2
  //| // A kernel whose blocks take a row each. What the warps found meets in shared memory.
  //| throw course::NotImplemented("task 2, softmax");
  if (rows == 0) return;
  softmax_rows<<<rows, block_threads, 0, stream>>>(x, p, cols);
  course::cuda_check(cudaGetLastError());
  //< task 2
}

}  // namespace lesson09
