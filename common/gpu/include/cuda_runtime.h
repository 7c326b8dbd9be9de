#pragma once

#include <cmath>
#include <type_traits>

#include "gpu/simulator.hpp"

// The part of the CUDA runtime that the simulator has, under the toolkit's names, for a source that
// cuda_to_cpp has rewritten. What is not here is a compile error.

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __syncthreads() ::course::gpu::sync_threads(__LINE__)

using course::gpu::dim3;
using course::gpu::uint3;

inline constexpr int warpSize = 32;
#define threadIdx (::course::gpu::this_thread.index)
#define blockIdx (::course::gpu::this_thread.block)
#define blockDim (::course::gpu::this_thread.block_extent)
#define gridDim (::course::gpu::this_thread.grid_extent)

using cudaError_t = course::gpu::Error;
using cudaMemcpyKind = course::gpu::CopyKind;
inline constexpr cudaError_t cudaSuccess = cudaError_t::Success;
inline constexpr cudaError_t cudaErrorInvalidValue = cudaError_t::InvalidValue;
inline constexpr cudaError_t cudaErrorMemoryAllocation = cudaError_t::MemoryAllocation;
inline constexpr cudaError_t cudaErrorInvalidConfiguration = cudaError_t::InvalidConfiguration;
inline constexpr cudaMemcpyKind cudaMemcpyHostToHost = cudaMemcpyKind::HostToHost;
inline constexpr cudaMemcpyKind cudaMemcpyHostToDevice = cudaMemcpyKind::HostToDevice;
inline constexpr cudaMemcpyKind cudaMemcpyDeviceToHost = cudaMemcpyKind::DeviceToHost;
inline constexpr cudaMemcpyKind cudaMemcpyDeviceToDevice = cudaMemcpyKind::DeviceToDevice;
inline constexpr cudaMemcpyKind cudaMemcpyDefault = cudaMemcpyKind::Default;

template <class T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
  return course::gpu::allocate(reinterpret_cast<void**>(pointer), bytes);
}
inline cudaError_t cudaFree(void* pointer) {
  return course::gpu::release(pointer);
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return course::gpu::copy(to, from, bytes, kind);
}
inline cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return course::gpu::set(to, value, bytes);
}
/// Kernels run when they are launched.
inline cudaError_t cudaDeviceSynchronize() {
  return course::gpu::last_error(false);
}
inline cudaError_t cudaGetLastError() {
  return course::gpu::last_error(true);
}
inline cudaError_t cudaPeekAtLastError() {
  return course::gpu::last_error(false);
}
inline const char* cudaGetErrorName(cudaError_t error) {
  return course::gpu::error_name(error);
}
inline const char* cudaGetErrorString(cudaError_t error) {
  return course::gpu::error_text(error);
}

template <class A, class B>
std::common_type_t<A, B> min(A a, B b) {
  const std::common_type_t<A, B> x = a, y = b;
  return y < x ? y : x;
}
template <class A, class B>
std::common_type_t<A, B> max(A a, B b) {
  const std::common_type_t<A, B> x = a, y = b;
  return x < y ? y : x;
}
