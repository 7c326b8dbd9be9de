#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "gpu/simulator/kernel/kernel_side.hpp"

// What a kernel calls. Calls that findings name take their line along.

inline constexpr int warpSize = 32;
#define threadIdx (::course::gpu::this_thread.index)
#define blockIdx (::course::gpu::this_thread.block)
#define blockDim (::course::gpu::this_thread.block_extent)
#define gridDim (::course::gpu::this_thread.grid_extent)

inline void __syncthreads(int line = __builtin_LINE()) {
  course::gpu::sync_threads(line);
}
inline void __syncwarp(unsigned mask = 0xffffffff, int line = __builtin_LINE()) {
  course::gpu::meet(course::gpu::WarpCall::SyncWarp, mask, 0, 0, warpSize, line);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize, int line = __builtin_LINE()) {
  return course::gpu::shuffle(course::gpu::WarpCall::Shuffle, mask, value, lane, width, line);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize, int line = __builtin_LINE()) {
  return course::gpu::shuffle(course::gpu::WarpCall::ShuffleUp, mask, value, static_cast<int>(by), width,
                              line);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize, int line = __builtin_LINE()) {
  return course::gpu::shuffle(course::gpu::WarpCall::ShuffleDown, mask, value, static_cast<int>(by), width,
                              line);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize, int line = __builtin_LINE()) {
  return course::gpu::shuffle(course::gpu::WarpCall::ShuffleXor, mask, value, lanes, width, line);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return static_cast<unsigned>(
      course::gpu::meet(course::gpu::WarpCall::Ballot, mask, predicate != 0, 0, warpSize, line));
}
inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return static_cast<int>(
      course::gpu::meet(course::gpu::WarpCall::Any, mask, predicate != 0, 0, warpSize, line));
}
inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return static_cast<int>(
      course::gpu::meet(course::gpu::WarpCall::All, mask, predicate != 0, 0, warpSize, line));
}

/// Relaxed, of the device's scope, or with _block of the block's. They order no other access.
#define COURSE_ATOMIC(name, change)                                                                  \
  template <class T>                                                                                 \
  T name(T* address, std::type_identity_t<T> value, int line = __builtin_LINE()) {                   \
    return course::gpu::update_atomically(address, false, line, [=](T old) -> T { return change; }); \
  }                                                                                                  \
  template <class T>                                                                                 \
  T name##_block(T* address, std::type_identity_t<T> value, int line = __builtin_LINE()) {           \
    return course::gpu::update_atomically(address, true, line, [=](T old) -> T { return change; });  \
  }
COURSE_ATOMIC(atomicAdd, old + value)
COURSE_ATOMIC(atomicSub, old - value)
COURSE_ATOMIC(atomicExch, (void(old), value))
COURSE_ATOMIC(atomicMin, value < old ? value : old)
COURSE_ATOMIC(atomicMax, old < value ? value : old)
COURSE_ATOMIC(atomicAnd, old& value)
COURSE_ATOMIC(atomicOr, old | value)
COURSE_ATOMIC(atomicXor, old ^ value)
#undef COURSE_ATOMIC

template <class T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value,
            int line = __builtin_LINE()) {
  return course::gpu::update_atomically(address, false, line,
                                        [=](T old) { return old == compare ? value : old; });
}
template <class T>
T atomicCAS_block(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value,
                  int line = __builtin_LINE()) {
  return course::gpu::update_atomically(address, true, line,
                                        [=](T old) { return old == compare ? value : old; });
}

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  const std::common_type_t<A, B> x = a, y = b;
  return y < x ? y : x;
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  const std::common_type_t<A, B> x = a, y = b;
  return x < y ? y : x;
}

/// Approximations on a device; here as exact as the host's.
inline float __expf(float x) {
  return std::exp(x);
}
inline float __logf(float x) {
  return std::log(x);
}
inline float __fdividef(float x, float y) {
  return x / y;
}
inline float rsqrtf(float x) {
  return 1 / std::sqrt(x);
}
inline float __fmaf_rn(float x, float y, float z) {
  return std::fma(x, y, z);
}
inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
template <class T>
T __ldg(const T* address) {
  return *address;
}
