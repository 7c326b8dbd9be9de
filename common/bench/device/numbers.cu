#include "bench/device/numbers.hpp"

namespace course::bench::device {

namespace {

constexpr unsigned block_threads = 256;

unsigned blocks_for(std::size_t count) {
  return static_cast<unsigned>((count + block_threads - 1) / block_threads);
}

__global__ void draw_numbers(float* to, std::size_t count, std::uint32_t seed, float scale) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (i < count) to[i] = number_at(seed, i, scale);
}

__global__ void fill_with(float* to, std::size_t count, float number) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (i < count) to[i] = number;
}

}  // namespace

void draw(const DeviceFloats& to, const Numbers& numbers, const Stream& stream) {
  draw_numbers<<<blocks_for(to.count()), block_threads, 0, stream.get()>>>(to.get(), to.count(), numbers.seed,
                                                                           numbers.scale);
  cuda_check(cudaGetLastError());
}

void fill(const DeviceFloats& to, float number, const Stream& stream) {
  fill_with<<<blocks_for(to.count()), block_threads, 0, stream.get()>>>(to.get(), to.count(), number);
  cuda_check(cudaGetLastError());
}

}  // namespace course::bench::device
