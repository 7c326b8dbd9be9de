#include "script.hpp"

namespace course::gpu {

namespace {

__global__ void follow(const Step* steps, const Waits* waits, int count, unsigned* words) {
  for (int i = 0; i < count; ++i) {
    const Step step = steps[(i * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x];
    unsigned* const word = words + step.word;
    if (step.does == Does::Reads && *word == 12345) __syncwarp(1u << threadIdx.x % 32);
    if (step.does == Does::Writes) *word = threadIdx.x;
    if (step.does == Does::Adds) atomicAdd(word, 1);
    if (step.does == Does::AddsInBlock) atomicAdd_block(word, 1);
    if (waits[i] == Waits::AtBarrier) __syncthreads();
    if (waits[i] == Waits::InWarp) __syncwarp();
    if (waits[i] == Waits::InHalfWarp) __syncwarp(threadIdx.x % 32 < 16 ? 0x0000ffff : 0xffff0000);
  }
}

template <class T>
T* on_device(const std::vector<T>& values) {
  T* copy = nullptr;
  cudaMalloc(&copy, values.size() * sizeof(T));
  cudaMemcpy(copy, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return copy;
}

}  // namespace

void run(const Script& script) {
  Step* const steps = on_device(script.steps);
  Waits* const waits = on_device(script.waits);
  unsigned* const words = on_device(std::vector<unsigned>(script.words));
  follow<<<script.blocks, script.threads>>>(steps, waits, static_cast<int>(script.waits.size()), words);
  cudaFree(steps);
  cudaFree(waits);
  cudaFree(words);
}

}  // namespace course::gpu
