// The whole program of cuda.md: doubles a thousand numbers on a GPU, or on the course's simulated one.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

__global__ void scale(float* x, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = factor * x[i];
}

int main() {
  const int n = 1000;
  std::vector<float> numbers(n, 21.0f);
  float* on_device = nullptr;
  check(cudaMalloc(&on_device, n * sizeof(float)));
  check(cudaMemcpy(on_device, numbers.data(), n * sizeof(float), cudaMemcpyHostToDevice));

  const int threads = 256;
  const int blocks = (n + threads - 1) / threads;
  scale<<<blocks, threads>>>(on_device, n, 2.0f);
  check(cudaGetLastError());

  check(cudaMemcpy(numbers.data(), on_device, n * sizeof(float), cudaMemcpyDeviceToHost));
  check(cudaFree(on_device));
  std::printf("%d blocks of %d threads; the last number is %g\n", blocks, threads, numbers[n - 1]);
}
