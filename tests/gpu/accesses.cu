#include "programs.hpp"

namespace {

using course::gpu::programs::require;

constexpr int n = 64;
constexpr size_t bytes = n * sizeof(float);

float* device_memory() {
  float* x = nullptr;
  require(cudaMalloc(&x, bytes) == cudaSuccess);
  require(cudaMemset(x, 0, bytes) == cudaSuccess);
  return x;
}

__global__ void double_each(float* x, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[i] *= 2;
}

PROGRAM(every_access_is_inside) {
  float* const x = device_memory();
  double_each<<<3, 32>>>(x, n);
  require(cudaDeviceSynchronize() == cudaSuccess);
  require(cudaFree(x) == cudaSuccess);
}

__global__ void double_each_and_one_more(float* x, int count) {
  const int i = threadIdx.x;
  if (i <= count) x[i] *= 2;  // expect out_of_bounds
}

PROGRAM(one_beyond_the_end) {
  float* const x = device_memory();
  double_each_and_one_more<<<1, 128>>>(x, n);
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  require(cudaGetLastError() == cudaErrorIllegalAddress && cudaGetLastError() == cudaErrorIllegalAddress);
  require(cudaFree(x) == cudaErrorIllegalAddress);
}

__global__ void before_the_beginning(float* x) {
  x[-static_cast<int>(threadIdx.x)] = 1;  // expect out_of_bounds
}

PROGRAM(one_before_the_beginning) {
  float* const x = device_memory();
  before_the_beginning<<<1, 2>>>(x);
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

__global__ void before_the_beginning_of_the_second(float* y) {
  y[-static_cast<int>(threadIdx.x)] = 1;  // expect out_of_bounds
}

/// What lies before is another allocation's, but far before.
PROGRAM(one_before_the_second_allocation) {
  float* const x = device_memory();
  float* const y = device_memory();
  require(x != y);
  before_the_beginning_of_the_second<<<1, 2>>>(y);
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

template <class Number>
__global__ void mark_what_is_no_number(Number* x, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    x[i] = isnan(x[i]) ? 1 : isinf(x[i]) ? (signbit(x[i]) ? 2 : 3) : isfinite(x[i]) ? 4 : 5;
}

PROGRAM(kinds_of_numbers_by_cudas_names) {
  const float given[] = {NAN, -INFINITY, INFINITY, 0.5f};
  float* x = nullptr;
  require(cudaMalloc(&x, sizeof given) == cudaSuccess);
  require(cudaMemcpy(x, given, sizeof given, cudaMemcpyHostToDevice) == cudaSuccess);
  mark_what_is_no_number<<<1, 32>>>(x, 4);
  float marks[4];
  require(cudaMemcpy(marks, x, sizeof marks, cudaMemcpyDeviceToHost) == cudaSuccess);
  for (int i = 0; i < 4; ++i) require(marks[i] == static_cast<float>(i + 1));
  require(cudaFree(x) == cudaSuccess);
}

__global__ void tile_beyond_the_end(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // expect out_of_bounds
}

/// What lies behind is another allocation's, but far behind.
PROGRAM(a_tile_beyond_the_end) {
  float* const x = device_memory();
  float* const y = device_memory();
  tile_beyond_the_end<<<1, n>>>(x + 2 * n, y);
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

__global__ void last_byte_beyond(char* x) {
  x[threadIdx.x] = 1;  // expect out_of_bounds
}

PROGRAM(extent_is_told_by_the_byte) {
  char* x = nullptr;
  require(cudaMalloc(&x, 6) == cudaSuccess);
  last_byte_beyond<<<1, 7>>>(x);
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

PROGRAM(last_byte_is_inside) {
  char* x = nullptr;
  require(cudaMalloc(&x, 7) == cudaSuccess);
  last_byte_beyond<<<1, 7>>>(x);
  require(cudaFree(x) == cudaSuccess);
}

__global__ void reads(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // expect out_of_bounds
}

PROGRAM(freed_memory_is_read) {
  float* const x = device_memory();
  float* const y = device_memory();
  require(cudaFree(x) == cudaSuccess);
  reads<<<1, n>>>(x, y);
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

__global__ void reads_what_the_host_has(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // expect host_pointer
}

PROGRAM(kernel_is_given_a_host_pointer) {
  float* const y = device_memory();
  float x[n] = {};
  reads_what_the_host_has<<<1, n>>>(x, y);
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

__global__ void follows_nothing(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // expect host_pointer
}

PROGRAM(kernel_is_given_a_null_pointer) {
  float* const y = device_memory();
  float* volatile nothing = nullptr;
  follows_nothing<<<1, n>>>(nothing, y);
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

struct Numbers {
  float of[900];
};

__device__ __noinline__ float sum_of(const float* x, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += x[i];
  return sum;
}

__global__ void sums_its_own(Numbers numbers, float* y) {
  float local[8];
  for (int i = 0; i < 8; ++i) local[i] = numbers.of[(i + threadIdx.x) % 40];
  y[threadIdx.x] = sum_of(local, 8) + sum_of(numbers.of, 40);
}

PROGRAM(arguments_and_local_arrays_are_the_threads_own) {
  float* const y = device_memory();
  Numbers numbers{};
  numbers.of[39] = 1;
  sums_its_own<<<1, n>>>(numbers, y);
  float first[n];
  require(cudaMemcpy(first, y, bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
  require(first[0] == 1 && first[32] == 2);
  require(cudaFree(y) == cudaSuccess);
}

__global__ void pinned_is_reached(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
}

PROGRAM(page_locked_memory_is_reached_by_both) {
  float* x = nullptr;
  float* const y = device_memory();
  require(cudaMallocHost(&x, bytes) == cudaSuccess);
  for (int i = 0; i < n; ++i) x[i] = 1;
  pinned_is_reached<<<1, n>>>(x, y);
  require(cudaStreamSynchronize(0) == cudaSuccess);
  require(cudaFreeHost(x) == cudaSuccess && cudaFree(y) == cudaSuccess);
}

PROGRAM(host_follows_a_device_pointer) {
  float* const x = device_memory();
  x[3] = 1;  // expect host_dereference
  require(cudaFree(x) == cudaSuccess);
}

__global__ void copies_four(const float* x, float4* y, int first) {
  y[threadIdx.x] = *reinterpret_cast<const float4*>(x + first + 4 * threadIdx.x);  // expect misaligned
}

PROGRAM(four_at_once_from_an_odd_place) {
  float* const x = device_memory();
  float* const y = device_memory();
  copies_four<<<1, 2>>>(x, reinterpret_cast<float4*>(y), 2);
  require(cudaDeviceSynchronize() == cudaErrorMisalignedAddress);
}

__global__ void copies_bytes(const char* x, char* y, int count) {
  memcpy(y, x, count);  // expect out_of_bounds
}

PROGRAM(memcpy_in_a_kernel_goes_beyond) {
  float* const x = device_memory();
  float* const y = device_memory();
  copies_bytes<<<1, 1>>>(reinterpret_cast<char*>(x), reinterpret_cast<char*>(y), bytes + 1);
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

__global__ void copies_a_known_count(const char* x, char* y) {
  memcpy(y, x + bytes - 10, 11);  // expect out_of_bounds
}

/// The compiler could move so few bytes by itself.
PROGRAM(memcpy_of_eleven_bytes_goes_beyond) {
  float* const x = device_memory();
  float* const y = device_memory();
  copies_a_known_count<<<1, 1>>>(reinterpret_cast<char*>(x), reinterpret_cast<char*>(y));
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

__global__ void sets_a_known_count(char* y) {
  memset(y + bytes - 10, 0, 11);  // expect out_of_bounds
}

PROGRAM(memset_of_eleven_bytes_goes_beyond) {
  float* const y = device_memory();
  sets_a_known_count<<<1, 1>>>(reinterpret_cast<char*>(y));
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

__global__ void moves_a_known_count(const char* x, char* y) {
  memmove(y, x + bytes - 10, 11);  // expect out_of_bounds
}

PROGRAM(memmove_of_eleven_bytes_goes_beyond) {
  float* const x = device_memory();
  float* const y = device_memory();
  moves_a_known_count<<<1, 1>>>(reinterpret_cast<char*>(x), reinterpret_cast<char*>(y));
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

__global__ void copies_four_in_place(const float* x, float4* y) {
  y[threadIdx.x] = *reinterpret_cast<const float4*>(x + 4 * threadIdx.x);
}

PROGRAM(four_at_once_where_four_begin) {
  float* const x = device_memory();
  float* const y = device_memory();
  copies_four_in_place<<<1, 16>>>(x, reinterpret_cast<float4*>(y));
  require(cudaFree(x) == cudaSuccess && cudaFree(y) == cudaSuccess);
}

__global__ void reads_shared_first(float* y) {
  __shared__ float tile[n];
  if (threadIdx.x > 0) tile[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x];  // expect unwritten_read
}

PROGRAM(shared_memory_that_nobody_wrote) {
  float* const y = device_memory();
  reads_shared_first<<<1, n>>>(y);
  require(cudaFree(y) == cudaSuccess);
}

/// GCC announces no write of what a call returns.
[[gnu::noinline]] __device__ float4 four_of(int i) {
  return make_float4(static_cast<float>(i), 1, 2, 3);
}

__global__ void stores_what_a_call_returns(float* y) {
  __shared__ float4 tile[n / 4];
  if (threadIdx.x < n / 4) tile[threadIdx.x] = four_of(threadIdx.x);
  __syncthreads();
  y[threadIdx.x] = reinterpret_cast<const float*>(tile)[threadIdx.x];
}

PROGRAM(shared_memory_that_a_call_has_filled) {
  float* const y = device_memory();
  stores_what_a_call_returns<<<1, n>>>(y);
  require(cudaFree(y) == cudaSuccess);
}

__global__ void reads_device_first(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // expect unwritten_read
}

PROGRAM(device_memory_that_nobody_wrote) {
  float* const y = device_memory();
  float* x = nullptr;
  require(cudaMalloc(&x, bytes) == cudaSuccess);
  require(cudaMemset(x, 0, bytes - 4) == cudaSuccess);
  reads_device_first<<<1, n>>>(x, y);
  require(cudaFree(x) == cudaSuccess && cudaFree(y) == cudaSuccess);
}

__global__ void beyond_a_shared_array(float* y) {
  __shared__ float tile[n];
  tile[threadIdx.x + 1] = 1;  // expect out_of_bounds
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x + 1];
}

PROGRAM(shared_array_is_too_short) {
  float* const y = device_memory();
  beyond_a_shared_array<<<1, n>>>(y);
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

extern __shared__ float all_of_it[];

__global__ void uses_what_the_launch_gave(float* y, int shift) {
  all_of_it[threadIdx.x + shift] = threadIdx.x;  // expect out_of_bounds
  __syncthreads();
  y[threadIdx.x] = all_of_it[blockDim.x - 1 - threadIdx.x + shift];
}

PROGRAM(launch_asked_for_too_little) {
  float* const y = device_memory();
  uses_what_the_launch_gave<<<1, n, bytes>>>(y, 1);
  require(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

extern __shared__ float whole[];

__global__ void reverses(float* y) {
  whole[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = whole[blockDim.x - 1 - threadIdx.x];
}

PROGRAM(dynamic_shared_memory_of_a_file) {
  float* const y = device_memory();
  reverses<<<1, n, bytes>>>(y);
  float made[n];
  require(cudaMemcpy(made, y, bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
  require(made[0] == n - 1 && made[n - 1] == 0);
  require(cudaFree(y) == cudaSuccess);
}

__global__ void waits_for_another(float* flag) {
  while (atomicAdd(flag, 0) == 0) {  // expect spinning
  }
}

PROGRAM(waits_for_nobody) {
  float* const flag = device_memory();
  waits_for_another<<<1, 1>>>(flag);
  require(cudaDeviceSynchronize() != cudaSuccess);
}

__global__ void doubles_until_it_is_there(float* x, int factor) {
  int stride = 1;
  if (threadIdx.x == 5)
    while (stride < n) stride *= factor;  // expect spinning
  x[threadIdx.x] = stride;
}

PROGRAM(loop_of_one_thread_does_not_end) {
  float* const x = device_memory();
  doubles_until_it_is_there<<<1, 32>>>(x, 1);
  require(cudaDeviceSynchronize() != cudaSuccess);
}

PROGRAM(loop_of_one_thread_ends) {
  float* const x = device_memory();
  doubles_until_it_is_there<<<1, 32>>>(x, 2);
  require(cudaFree(x) == cudaSuccess);
}

/// A thread's own array is no memory that others could change.
__global__ void adds_to_its_own_array(float* x, int step) {
  float own[4] = {};
  for (int i = 0; i < n; i += step) own[i % 4] += expf(own[(i + 1) % 4]);  // expect spinning
  x[threadIdx.x] = own[threadIdx.x % 4];
}

PROGRAM(loop_over_an_array_of_the_thread_s_does_not_end) {
  float* const x = device_memory();
  adds_to_its_own_array<<<1, 4>>>(x, 0);
  require(cudaDeviceSynchronize() != cudaSuccess);
}

}  // namespace
