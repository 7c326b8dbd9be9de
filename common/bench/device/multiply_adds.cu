#include <algorithm>

#include "bench/device/numbers.hpp"
#include "bench/device/stopwatch.hpp"
#include "bench/device/timings.hpp"

namespace course::bench::device {

namespace {

constexpr int block_threads = 256;
/// Sums of a thread, none of which waits for another.
constexpr int sums = 16;

__global__ void add_up(float* result, int additions, float factor, float summand) {
  float sum[sums];
  for (int j = 0; j < sums; ++j) sum[j] = static_cast<float>(threadIdx.x + j);
#pragma unroll 4
  for (int i = 0; i < additions; ++i) {
#pragma unroll
    for (int j = 0; j < sums; ++j) sum[j] = fmaf(sum[j], factor, summand);
  }
  float all = 0.0f;
  for (int j = 0; j < sums; ++j) all += sum[j];
  result[blockIdx.x * block_threads + threadIdx.x] = all;
}

}  // namespace

void time_multiply_adds(Timings& timings, const Sizes& sizes) {
  cudaDeviceProp device;
  cuda_check(cudaGetDeviceProperties(&device, 0));
  const int blocks = std::max(1, sizes.blocks_each * device.multiProcessorCount);
  const Stream stream;
  const DeviceFloats result(static_cast<std::size_t>(blocks) * block_threads);
  const double seconds = median_seconds(sizes.effort, stream, [&] {
    add_up<<<blocks, block_threads, 0, stream.get()>>>(result.get(), sizes.additions, 0.999f, 0.001f);
    cuda_check(cudaGetLastError());
  });
  const double operations = 2.0 * sums * sizes.additions * static_cast<double>(result.count());
  timings.add({.name = multiply_adds_row, .limited_by = "arithmetic"}, 1e-9 * operations / seconds);
}

}  // namespace course::bench::device
