#pragma once

#include "programs.hpp"

/// What programs with streams have in common.
namespace {

using course::gpu::programs::require;

constexpr int n = 64;
constexpr size_t bytes = n * sizeof(float);
constexpr cudaMemcpyKind up = cudaMemcpyHostToDevice;

void check(cudaError_t error, int line = __builtin_LINE()) {
  require(error == cudaSuccess, line);
}

/// Streams that join with no other, events, device and page-locked memory: what most of these programs need.
struct Stage {
  Stage() {
    for (cudaStream_t* const stream : {&one, &two, &three})
      check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    for (cudaEvent_t* const made : {&event, &other})
      check(cudaEventCreateWithFlags(made, cudaEventDisableTiming));
    for (float** const memory : {&x, &y}) {
      check(cudaMalloc(memory, bytes));
      check(cudaMemset(*memory, 0, bytes));
    }
    check(cudaMallocHost(&host, bytes));
    check(cudaStreamSynchronize(0));
    for (int i = 0; i < n; ++i) host[i] = i;
  }
  ~Stage() {
    for (const cudaStream_t stream : {one, two, three}) cudaStreamDestroy(stream);
    for (const cudaEvent_t made : {event, other}) cudaEventDestroy(made);
    cudaFreeHost(host);
    cudaFree(x);
    cudaFree(y);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  cudaStream_t one, two, three;
  cudaEvent_t event, other;
  float *x, *y, *host;
};

__global__ void writes(float* x, float value) {
  x[threadIdx.x] = value;
}

__global__ void copies(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
}

}  // namespace
