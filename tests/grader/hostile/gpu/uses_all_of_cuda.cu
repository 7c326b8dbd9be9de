// what: calls all that the simulated GPU has, which is what an answer may
// graded: passed
// namespaces: passed
// user: passed
// none: passed
#include <cuda_runtime.h>

__global__ void uses_all_of_a_kernel(int* sums, unsigned* bits) {
  __shared__ int held;
  extern __shared__ int asked[];
  const int i = threadIdx.x;
  if (i == 0) held = 0;
  asked[i] = i;
  __syncthreads();
  atomicAdd(&held, asked[blockDim.x - 1 - i]);
  __syncwarp();
  const int above = __shfl_down_sync(0xffffffffu, i, 1) + __shfl_up_sync(0xffffffffu, i, 1);
  const int other = __shfl_xor_sync(0xffffffffu, i, 1) + __shfl_sync(0xffffffffu, above, 0);
  const int votes = __any_sync(0xffffffffu, other) + __all_sync(0xffffffffu, i >= 0);
  __syncthreads();
  if (i == 0) *sums = held + votes * 0;
  if (i == 0) *bits = 0;
  __syncthreads();
  atomicOr(bits, __ballot_sync(0xffffffffu, i % 2));
}

bool works() {
  const size_t bytes = 48 << 10;
  int sums = 0, *on_device = nullptr, *pinned = nullptr, devices = 0, device = -1;
  unsigned* bits = nullptr;
  cudaStream_t stream = nullptr, other = nullptr;
  cudaEvent_t event = nullptr, untimed = nullptr;
  cudaDeviceProp properties;
  bool right = cudaMalloc(&on_device, sizeof(int)) == cudaSuccess;
  right = right && cudaStreamCreate(&other) == cudaSuccess;
  right = right && cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
  right = right && cudaEventCreate(&event) == cudaSuccess;
  right = right && cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming) == cudaSuccess;
  right = right && cudaMallocHost(&pinned, sizeof(int)) == cudaSuccess;
  right = right && cudaMallocAsync(&bits, sizeof(unsigned), stream) == cudaSuccess;
  cudaFuncSetAttribute(uses_all_of_a_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  uses_all_of_a_kernel<<<1, 64, bytes / 2, stream>>>(on_device, bits);
  right = right && cudaGetLastError() == cudaSuccess && cudaPeekAtLastError() == cudaSuccess;
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(other, event);
  cudaMemcpyAsync(pinned, on_device, sizeof(int), cudaMemcpyDeviceToHost, other);
  cudaEventRecord(untimed, other);
  cudaEventSynchronize(untimed);
  right = right && *pinned == 64 * 63 / 2 && cudaEventQuery(event) == cudaSuccess;
  cudaMemset(on_device, 0, sizeof(int));
  cudaMemsetAsync(on_device, 0, sizeof(int), cudaStreamPerThread);
  cudaDeviceSynchronize();
  cudaMemcpy(&sums, on_device, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFreeAsync(bits, stream);
  cudaStreamSynchronize(stream);
  right = right && sums == 0 && cudaStreamQuery(stream) == cudaSuccess;
  right = right && cudaGetDeviceCount(&devices) == cudaSuccess && cudaSetDevice(devices - 1) == cudaSuccess;
  right = right && cudaGetDevice(&device) == cudaSuccess;
  right = right && cudaGetDeviceProperties(&properties, device) == cudaSuccess;
  right = right && cudaGetErrorName(cudaSuccess) != nullptr && cudaGetErrorString(cudaSuccess) != nullptr;
  cudaFree(on_device);
  cudaFreeHost(pinned);
  cudaEventDestroy(event);
  cudaEventDestroy(untimed);
  cudaStreamDestroy(stream);
  cudaStreamDestroy(other);
  return right;
}

// Before the answer is called, which may neither allocate nor wait.
const bool has_worked = works();

bool attack() {
  return has_worked;
}
