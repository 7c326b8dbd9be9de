// The whole program of cuda.md: sums the rows of a matrix, half of them in each of two streams.
//   nvcc row_sums.cu -o row_sums && ./row_sums
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

constexpr int rows = 6;
constexpr int cols = 1000;
constexpr int threads = 256;

void check(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "row_sums.cu, line %d: %s\n", line, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

// A block of threads sums one row.
__global__ void sum_rows(const float* x, int length, float* sums) {
  __shared__ float part[threads];
  const int t = threadIdx.x;
  const float* row = x + blockIdx.x * length;
  float sum = 0.0f;
  for (int j = t; j < length; j += threads) sum += row[j];
  part[t] = sum;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) part[t] += part[t + half];
  }
  if (t == 0) sums[blockIdx.x] = part[0];
}

int main() {
  const int entries = rows * cols;
  float* x = nullptr;     // of the host, page-locked
  float* sums = nullptr;  // a sum for each row, and the sum of these
  CHECK(cudaMallocHost(&x, entries * sizeof(float)));
  CHECK(cudaMallocHost(&sums, (rows + 1) * sizeof(float)));
  for (int i = 0; i < entries; ++i) x[i] = i / cols;

  float* device_x = nullptr;
  float* device_sums = nullptr;
  CHECK(cudaMalloc(&device_x, entries * sizeof(float)));
  CHECK(cudaMalloc(&device_sums, (rows + 1) * sizeof(float)));
  cudaStream_t streams[2];
  cudaEvent_t second_half_summed;
  for (cudaStream_t& stream : streams) CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&second_half_summed));

  const int half = rows / 2;
  for (int s = 0; s < 2; ++s) {
    const int first = s * half;
    CHECK(cudaMemcpyAsync(device_x + first * cols, x + first * cols, half * cols * sizeof(float),
                          cudaMemcpyHostToDevice, streams[s]));
    sum_rows<<<half, threads, 0, streams[s]>>>(device_x + first * cols, cols, device_sums + first);
    CHECK(cudaGetLastError());
  }

  CHECK(cudaEventRecord(second_half_summed, streams[1]));
  CHECK(cudaStreamWaitEvent(streams[0], second_half_summed, 0));
  sum_rows<<<1, threads, 0, streams[0]>>>(device_sums, rows, device_sums + rows);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(sums, device_sums, (rows + 1) * sizeof(float), cudaMemcpyDeviceToHost, streams[0]));
  CHECK(cudaStreamSynchronize(streams[0]));

  std::printf("rows:");
  for (int i = 0; i < rows; ++i) std::printf(" %g", sums[i]);
  std::printf("\nall:  %g\n", sums[rows]);

  CHECK(cudaEventDestroy(second_half_summed));
  for (const cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(device_sums));
  CHECK(cudaFree(device_x));
  CHECK(cudaFreeHost(sums));
  CHECK(cudaFreeHost(x));
}
