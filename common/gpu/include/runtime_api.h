#pragma once

#include <cstdlib>
#include <type_traits>

#include "gpu/simulator/findings/source_lines.hpp"
#include "gpu/simulator/host/host_side.hpp"
#include "gpu/simulator/host/launches.hpp"

// What the host calls. Findings name the caller's line, and its file unless it is a CUDA source.

#define COURSE_PLACE ::course::gpu::place_of_call(__builtin_LINE(), __builtin_FILE())

using cudaError_t = course::gpu::Error;
inline constexpr cudaError_t cudaSuccess = cudaError_t::Success;
inline constexpr cudaError_t cudaErrorInvalidValue = cudaError_t::InvalidValue;
inline constexpr cudaError_t cudaErrorMemoryAllocation = cudaError_t::MemoryAllocation;
inline constexpr cudaError_t cudaErrorInvalidConfiguration = cudaError_t::InvalidConfiguration;
inline constexpr cudaError_t cudaErrorInvalidDevice = cudaError_t::InvalidDevice;
inline constexpr cudaError_t cudaErrorInvalidResourceHandle = cudaError_t::InvalidResourceHandle;
inline constexpr cudaError_t cudaErrorNotReady = cudaError_t::NotReady;
inline constexpr cudaError_t cudaErrorIllegalAddress = cudaError_t::IllegalAddress;
inline constexpr cudaError_t cudaErrorMisalignedAddress = cudaError_t::MisalignedAddress;

inline const char* cudaGetErrorName(cudaError_t error) {
  return course::gpu::error_name(error);
}
inline const char* cudaGetErrorString(cudaError_t error) {
  return course::gpu::error_text(error);
}
inline cudaError_t cudaGetLastError() {
  return course::gpu::last_error(true);
}
inline cudaError_t cudaPeekAtLastError() {
  return course::gpu::last_error(false);
}

using cudaMemcpyKind = course::gpu::CopyKind;
inline constexpr cudaMemcpyKind cudaMemcpyHostToHost = cudaMemcpyKind::HostToHost;
inline constexpr cudaMemcpyKind cudaMemcpyHostToDevice = cudaMemcpyKind::HostToDevice;
inline constexpr cudaMemcpyKind cudaMemcpyDeviceToHost = cudaMemcpyKind::DeviceToHost;
inline constexpr cudaMemcpyKind cudaMemcpyDeviceToDevice = cudaMemcpyKind::DeviceToDevice;
inline constexpr cudaMemcpyKind cudaMemcpyDefault = cudaMemcpyKind::Default;

using cudaStream_t = course::gpu::Stream*;
using cudaEvent_t = course::gpu::Event*;
#define cudaStreamPerThread (::course::gpu::per_thread_stream())
inline constexpr cudaStream_t cudaStreamLegacy = nullptr;
inline constexpr unsigned cudaStreamDefault = 0;
inline constexpr unsigned cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventDefault = 0;
inline constexpr unsigned cudaEventDisableTiming = 2;

template <class T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes, int line = COURSE_PLACE) {
  return course::gpu::allocate_device(reinterpret_cast<void**>(pointer), bytes, line);
}
inline cudaError_t cudaFree(void* pointer, int line = COURSE_PLACE) {
  return course::gpu::free_device(pointer, line);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, std::size_t bytes, int line = COURSE_PLACE) {
  return course::gpu::allocate_pinned(reinterpret_cast<void**>(pointer), bytes, line);
}
inline cudaError_t cudaFreeHost(void* pointer, int line = COURSE_PLACE) {
  return course::gpu::free_pinned(pointer, line);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t stream, int line = COURSE_PLACE) {
  return course::gpu::allocate_in_stream(reinterpret_cast<void**>(pointer), bytes, stream, line);
}
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream, int line = COURSE_PLACE) {
  return course::gpu::free_in_stream(pointer, stream, line);
}

inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                              int line = COURSE_PLACE) {
  return course::gpu::copy(to, from, bytes, kind, line);
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream = nullptr, int line = COURSE_PLACE) {
  return course::gpu::copy_in_stream(to, from, bytes, kind, stream, line);
}
inline cudaError_t cudaMemset(void* to, int value, std::size_t bytes, int line = COURSE_PLACE) {
  return course::gpu::set(to, value, bytes, line);
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream = nullptr,
                                   int line = COURSE_PLACE) {
  return course::gpu::set_in_stream(to, value, bytes, stream, line);
}

inline cudaError_t cudaStreamCreate(cudaStream_t* stream, int line = COURSE_PLACE) {
  return course::gpu::create_stream(stream, true, line);
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags, int line = COURSE_PLACE) {
  return course::gpu::create_stream(stream, flags != cudaStreamNonBlocking, line);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return course::gpu::destroy_stream(stream);
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream, int line = COURSE_PLACE) {
  return course::gpu::synchronize_stream(stream, line);
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream, int line = COURSE_PLACE) {
  return course::gpu::query_stream(stream, line);
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned = 0,
                                       int line = COURSE_PLACE) {
  return course::gpu::wait_for_event(stream, event, line);
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event, int line = COURSE_PLACE) {
  return course::gpu::create_event(event, line);
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned, int line = COURSE_PLACE) {
  return course::gpu::create_event(event, line);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return course::gpu::destroy_event(event);
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr,
                                   int line = COURSE_PLACE) {
  return course::gpu::record_event(event, stream, line);
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event, int line = COURSE_PLACE) {
  return course::gpu::synchronize_event(event, line);
}
inline cudaError_t cudaEventQuery(cudaEvent_t event, int line = COURSE_PLACE) {
  return course::gpu::query_event(event, line);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end)
    __attribute__((error("the simulator has no time: measure on a device")));
inline cudaError_t cudaDeviceSynchronize(int line = COURSE_PLACE) {
  return course::gpu::synchronize_device(line);
}

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
template <class Function>
cudaError_t cudaFuncSetAttribute(Function* kernel, cudaFuncAttribute, int bytes) {
  return course::gpu::allow_dynamic_shared((const void*)kernel, static_cast<std::size_t>(bytes));
}

/// Those members that lessons use.
struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor;
  int major, minor, warpSize, maxThreadsPerBlock, multiProcessorCount, regsPerBlock, l2CacheSize;
};
cudaError_t inline cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : course::gpu::failed(cudaErrorInvalidDevice);
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return course::gpu::failed(cudaErrorInvalidDevice);
  *properties = {"simulated GPU",
                 course::gpu::device_memory_bytes,
                 course::gpu::default_shared_bytes,
                 course::gpu::most_shared_bytes,
                 course::gpu::most_shared_bytes + 1024,
                 8,
                 0,
                 32,
                 static_cast<int>(course::gpu::most_threads_of_a_block),
                 108,
                 65536,
                 40 << 20};
  return cudaSuccess;
}
