#include <stdexcept>

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

constexpr int much = 100 * 1024;

template <class Kernel>
void allow_much(Kernel* kernel) {
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, much) == cudaSuccess);
}

void allow_much_without_type(const void* kernel) {
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, much) == cudaSuccess);
}

PROGRAM(helper_allows_what_it_is_given) {
  float* const x = device_memory(32);
  allow_much(fills_much<16001>);
  fills_much<16001><<<1, 32, much>>>(x);
  require(cudaGetLastError() == cudaSuccess && cudaFree(x) == cudaSuccess);
}

PROGRAM(helper_without_the_type_allows_what_it_is_given) {
  float* const x = device_memory(32);
  allow_much_without_type((const void*)fills_much<16002>);
  fills_much<16002><<<1, 32, much>>>(x);
  require(cudaGetLastError() == cudaSuccess && cudaFree(x) == cudaSuccess);
}

PROGRAM(pointer_to_the_kernel_is_allowed_and_launched) {
  float* const x = device_memory(32);
  auto kernel = &fills_much<16003>;
  allow_much(kernel);
  kernel<<<1, 32, much>>>(x);
  void (*const of_table[])(float*) = {fills_much<16003>};
  of_table[0]<<<1, 32, much>>>(x);
  fills_much<16003><<<1, 32, much>>>(x);
  require(cudaGetLastError() == cudaSuccess && cudaFree(x) == cudaSuccess);
}

template <int count>
void allows_once(float* x) {
  static const bool allowed = (allow_much(fills_much<count>), true);
  require(allowed);
  fills_much<count><<<1, 32, much>>>(x);
}

// A test plays each program several times in one process.
PROGRAM(static_initialiser_allows_for_the_process) {
  float* const x = device_memory(32);
  allows_once<16004>(x);
  require(cudaGetLastError() == cudaSuccess && cudaFree(x) == cudaSuccess);
}

const bool allowed_before_main = (allow_much(fills_much<16005>), true);

PROGRAM(initialiser_before_main_allows_for_the_process) {
  float* const x = device_memory(32);
  require(allowed_before_main);
  fills_much<16005><<<1, 32, much>>>(x);
  require(cudaGetLastError() == cudaSuccess && cudaFree(x) == cudaSuccess);
}

template <class Number>
__global__ void fills_by_type(const Number* from, Number* x, int at) {
  extern __shared__ float tile[];
  tile[threadIdx.x + at] = from == nullptr ? 1 : from[threadIdx.x];
  x[threadIdx.x] = tile[threadIdx.x + at];
}

PROGRAM(template_arguments_are_deduced) {
  float* const x = device_memory(32);
  const float* const nothing = nullptr;
  allow_much(fills_by_type<float>);
  fills_by_type<<<1, 32, much>>>(nothing, x, 16000);
  fills_by_type<float><<<1, 32, much>>>(nullptr, x, 16000);
  require(cudaGetLastError() == cudaSuccess);
  float* const no_constant = nullptr;
  fills_by_type<<<1, 32, 128>>>(no_constant, x, 0);
  require(cudaGetLastError() == cudaSuccess);
  try {
    fills_by_type<<<1, 32, much>>>(no_constant, x, 16000);
    require(false);
  } catch (const std::invalid_argument&) {
  }
  require(cudaFree(x) == cudaSuccess);
}

__global__ void overloaded(float* x) {
  x[threadIdx.x] = 1;
}
__global__ void overloaded(float* x, int at) {
  extern __shared__ float tile[];
  tile[threadIdx.x + at] = 1;
  x[threadIdx.x] = tile[threadIdx.x + at];
}

PROGRAM(one_of_two_of_a_name_is_allowed_more) {
  float* const x = device_memory(32);
  void (*const kernel)(float*, int) = overloaded;
  allow_much(kernel);
  overloaded<<<1, 32, much>>>(x, 16000);
  require(cudaGetLastError() == cudaSuccess);
  overloaded<<<1, 32, much>>>(x);  // expect refused_launch
  require(cudaGetLastError() == cudaErrorInvalidValue && cudaFree(x) == cudaSuccess);
}

PROGRAM(another_kernel_is_allowed_more) {
  float* const x = device_memory(32);
  allow_much(fills_much<16000>);
  require(cudaFuncSetAttribute(fills, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024) ==
          cudaErrorInvalidValue);
  require(cudaGetLastError() == cudaErrorInvalidValue);
  fills<<<1, 32, much>>>(x);  // expect refused_launch
  require(cudaGetLastError() == cudaErrorInvalidValue && cudaFree(x) == cudaSuccess);
}

PROGRAM(another_kernel_of_the_template_is_allowed_more) {
  float* const x = device_memory(32);
  allow_much(fills_much<16000>);
  fills_much<15999><<<1, 32, much>>>(x);  // expect refused_launch
  require(cudaGetLastError() == cudaErrorInvalidValue && cudaFree(x) == cudaSuccess);
}

PROGRAM(another_kernel_under_the_same_pointer_s_name_is_allowed_more) {
  float* const x = device_memory(32);
  {
    auto kernel = &fills_much<16000>;
    allow_much(kernel);
  }
  auto kernel = &fills;
  kernel<<<1, 32, much>>>(x);  // expect refused_launch
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
