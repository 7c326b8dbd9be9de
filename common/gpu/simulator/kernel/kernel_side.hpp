#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "gpu/simulator/kernel/geometry.hpp"

/// What include/cuda_runtime.h and a rewritten source call from within a kernel. `line` is that of the call.
namespace course::gpu {

/// The simulator's own code in a source: no access of the kernel's.
#define COURSE_UNSEEN __attribute__((no_sanitize("thread")))

/// What each thread of a launch does, with the arguments of its own that it copies.
class ThreadCode {
 public:
  virtual ~ThreadCode() = default;
  virtual void run() const = 0;
  virtual std::size_t bytes() const = 0;  ///< of the object
};

/// The thread that runs now.
struct ThisThread {
  uint3 index, block;
  dim3 block_extent, grid_extent;
};
extern ThisThread this_thread;

void sync_threads(int line);

/// The running block's variable of that key, which nobody has written to.
void* shared_variable(const void* key, std::size_t bytes);
/// The same address for every block and launch, so that a reference to it may stand outside a function.
void* dynamic_shared_memory();

/// Each declaration has an `Unique` of its own, in each instance of a template.
template <class T, class Unique>
T& shared(Unique) {
  static const char key = 0;
  return *static_cast<T*>(shared_variable(&key, sizeof(T)));
}

template <class T>
T& dynamic_shared() {
  return *static_cast<T*>(dynamic_shared_memory());
}

/// Enters an atomic access.
void check_atomic(const void* address, std::size_t bytes, bool of_block, int line);

/// Replaces the value by change(value), at once, and returns what it was.
template <class T, class Change>
COURSE_UNSEEN T update_atomically(T* address, bool of_block, int line, Change change) {
  check_atomic(address, sizeof(T), of_block, line);
  const T old = *address;
  *address = change(old);
  return old;
}

/// What the lanes of a warp do together. Shuffles and votes order no memory, SyncWarp does.
enum class WarpCall { Shuffle, ShuffleUp, ShuffleDown, ShuffleXor, Ballot, Any, All, SyncWarp };

/// Waits for the lanes of the mask, each with a value of its own.
/// @param argument a shuffle's lane, distance or mask of lanes
/// @param width a shuffle's, a power of two up to 32
/// @return a shuffle's or vote's result
std::uint64_t meet(WarpCall call, unsigned mask, std::uint64_t value, int argument, int width, int line);

template <class T>
T shuffle(WarpCall call, unsigned mask, T value, int argument, int width, int line) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                "the simulator shuffles numbers of 4 or 8 bytes");
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(
      static_cast<Bits>(meet(call, mask, std::bit_cast<Bits>(value), argument, width, line)));
}

}  // namespace course::gpu
