#include "gpu/named_calls.hpp"
#include "programs.hpp"

namespace {

using course::gpu::programs::require;

__global__ void fills(float* x) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = 1;
  x[blockIdx.x * blockDim.x + threadIdx.x] = tile[threadIdx.x];
}

float* device_memory(int count) {
  float* x = nullptr;
  require(cudaMalloc(&x, count * sizeof(float)) == cudaSuccess);
  return x;
}

PROGRAM(as_many_threads_as_there_are) {
  float* const x = device_memory(1024);
  fills<<<1, 1024, 4096>>>(x);
  require(cudaGetLastError() == cudaSuccess && cudaStreamSynchronize(0) == cudaSuccess);
  require(cudaFree(x) == cudaSuccess);
}

PROGRAM(as_much_memory_as_takes_many_pages) {
  float* const x = device_memory(1 << 20);
  require(cudaMemset(x, 0, 4 << 20) == cudaSuccess && cudaStreamSynchronize(0) == cudaSuccess);
  require(cudaFree(x) == cudaSuccess);
}

PROGRAM(one_thread_too_many) {
  float* const x = device_memory(1025);
  fills<<<1, 1025, 4100>>>(x);  // expect refused_launch
  require(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  require(cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess);
  require(cudaDeviceSynchronize() == cudaSuccess && cudaFree(x) == cudaSuccess);
}

PROGRAM(error_of_a_launch_is_not_asked_for) {
  float* const x = device_memory(1);
  fills<<<0, 1, 4>>>(x);  // expect refused_launch unchecked_error
  require(cudaFree(x) == cudaSuccess);
}

PROGRAM(function_asks_whether_its_launches_were_refused) {
  float* const x = device_memory(1);
  course::call_to_launch([x] {
    fills<<<1, 1, 4>>>(x);
    fills<<<1, 1, 4>>>(x);
    require(cudaPeekAtLastError() == cudaSuccess);
  });
  fills<<<1, 1, 4>>>(x);
  require(cudaFree(x) == cudaSuccess);
}

PROGRAM(function_does_not_ask_whether_its_launch_was_refused) {
  float* const x = device_memory(1);
  course::call_to_launch([x] {
    require(cudaGetLastError() == cudaSuccess);
    fills<<<1, 1, 4>>>(x);  // expect unasked_launch
  });
  require(cudaGetLastError() == cudaSuccess && cudaFree(x) == cudaSuccess);
}

PROGRAM(launch_before_a_function_is_not_the_function_s) {
  float* const x = device_memory(1);
  fills<<<1, 1, 4>>>(x);
  course::call_to_launch([] {});
  require(cudaGetLastError() == cudaSuccess && cudaFree(x) == cudaSuccess);
}

PROGRAM(function_throws_behind_its_launch) {
  float* const x = device_memory(1);
  try {
    course::call_to_launch([x] {
      fills<<<1, 1, 4>>>(x);
      throw std::runtime_error("of another cause");
    });
  } catch (const std::runtime_error&) {
  }
  require(cudaFree(x) == cudaSuccess);
}

PROGRAM(dynamic_shared_memory_up_to_the_limit) {
  float* const x = device_memory(32);
  fills<<<1, 32, 48 * 1024>>>(x);
  require(cudaGetLastError() == cudaSuccess && cudaFree(x) == cudaSuccess);
}

PROGRAM(dynamic_shared_memory_beyond_the_limit) {
  float* const x = device_memory(32);
  fills<<<1, 32, 48 * 1024 + 4>>>(x);  // expect refused_launch
  require(cudaGetLastError() == cudaErrorInvalidValue && cudaFree(x) == cudaSuccess);
}

template <int count>
__global__ void fills_much(float* x) {
  extern __shared__ float tile[];
  tile[threadIdx.x + count] = 1;
  x[threadIdx.x] = tile[threadIdx.x + count];
}

PROGRAM(more_dynamic_shared_memory_is_allowed) {
  float* const x = device_memory(32);
  require(cudaFuncSetAttribute(fills_much<16000>, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024) ==
          cudaSuccess);
  fills_much<16000><<<1, 32, 100 * 1024>>>(x);
  require(cudaGetLastError() == cudaSuccess && cudaFree(x) == cudaSuccess);
}

PROGRAM(another_kernel_is_allowed_more) {
  float* const x = device_memory(32);
  require(cudaFuncSetAttribute(fills_much<16000>, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024) ==
          cudaSuccess);
  require(cudaFuncSetAttribute(fills, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024) ==
          cudaErrorInvalidValue);
  require(cudaGetLastError() == cudaErrorInvalidValue);
  fills<<<1, 32, 100 * 1024>>>(x);  // expect refused_launch
  require(cudaGetLastError() == cudaErrorInvalidValue && cudaFree(x) == cudaSuccess);
}

template <int count>
__global__ void has_arrays(float* x) {
  __shared__ float a[count];
  __shared__ float b[count];
  extern __shared__ float c[];
  a[threadIdx.x] = b[threadIdx.x] = c[threadIdx.x] = 1;
  x[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x] + c[threadIdx.x];
}

PROGRAM(variables_and_dynamic_shared_memory_fit) {
  float* const x = device_memory(32);
  has_arrays<1024><<<1, 32, 40 * 1024>>>(x);
  require(cudaGetLastError() == cudaSuccess && cudaFree(x) == cudaSuccess);
}

PROGRAM(variables_and_dynamic_shared_memory_do_not_fit) {
  float* const x = device_memory(32);
  has_arrays<1024><<<1, 32, 40 * 1024 + 4>>>(x);  // expect refused_launch
  cudaDeviceSynchronize();
  require(cudaGetLastError() == cudaErrorInvalidValue && cudaFree(x) == cudaSuccess);
}

PROGRAM(variables_alone_do_not_fit) {
  float* const x = device_memory(32);
  has_arrays<6144><<<1, 32, 128>>>(x);  // expect refused_launch
  cudaDeviceSynchronize();
  require(cudaGetLastError() == cudaErrorInvalidValue && cudaFree(x) == cudaSuccess);
}

PROGRAM(memory_is_never_freed) {
  float* x = nullptr;
  require(cudaMalloc(&x, 12) == cudaSuccess);  // expect device_memory
}

PROGRAM(memory_is_freed_twice) {
  float* const x = device_memory(3);
  require(cudaFree(x) == cudaSuccess);
  require(cudaFree(x) == cudaErrorInvalidValue);  // expect device_memory
}

PROGRAM(memory_is_freed_from_the_middle) {
  float* const x = device_memory(3);
  require(cudaFree(x + 1) == cudaErrorInvalidValue);  // expect device_memory
  require(cudaFree(x) == cudaSuccess && cudaFree(nullptr) == cudaSuccess);
}

PROGRAM(copy_goes_beyond_the_end) {
  float* const x = device_memory(3);
  const float y[4] = {};
  require(cudaMemcpy(x, y, 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);  // expect device_memory
  require(cudaMemcpy(x, y, 12, cudaMemcpyHostToDevice) == cudaSuccess);
  require(cudaFree(x) == cudaSuccess);
}

PROGRAM(copy_goes_the_wrong_way) {
  float* const x = device_memory(3);
  float y[3] = {};
  require(cudaMemcpy(x, y, 12, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);  // expect device_memory
  require(cudaMemcpy(x, y, 12, cudaMemcpyDefault) == cudaSuccess);
  require(cudaFree(x) == cudaSuccess);
}

PROGRAM(device_tells_what_it_has) {
  cudaDeviceProp properties;
  require(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
  require(properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024);
  require(properties.sharedMemPerBlock == 49152 && properties.sharedMemPerBlockOptin > 49152);
  require(cudaSetDevice(1) == cudaErrorInvalidDevice && cudaGetLastError() == cudaErrorInvalidDevice);
  require(std::string(cudaGetErrorName(cudaErrorInvalidDevice)) == "cudaErrorInvalidDevice");
  require(std::string(cudaGetErrorString(cudaErrorIllegalAddress)) ==
          "an illegal memory access was encountered");
}

}  // namespace
