#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "protocol/status_page.hpp"

/// A GPU on one core of the host, for CUDA sources that cuda_to_cpp has rewritten and include/cuda_runtime.h
/// completes. Each thread of a block is a fiber; blocks, and the threads between two barriers, run in an
/// order that is drawn anew each time, so that nobody can rely on one. Source: CUDA C++ Programming Guide 13,
/// chapters 5 and 7.
namespace course::gpu {

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr std::uint64_t size() const { return std::uint64_t{x} * y * z; }
};

/// The thread that runs now.
struct ThisThread {
  uint3 index, block;
  dim3 block_extent, grid_extent;
};
extern ThisThread this_thread;

/// With the runtime's own numbers.
enum class Error { Success = 0, InvalidValue = 1, MemoryAllocation = 2, InvalidConfiguration = 9 };
enum class CopyKind { HostToHost, HostToDevice, DeviceToHost, DeviceToDevice, Default };

const char* error_name(Error error);
const char* error_text(Error error);
/// The error of a launch or call that failed last.
Error last_error(bool clear);

Error allocate(void** pointer, std::size_t bytes);  ///< the bytes start as signalling NaNs
Error release(void* pointer);
Error copy(void* to, const void* from, std::size_t bytes, CopyKind kind);
Error set(void* to, int value, std::size_t bytes);

struct Launch {
  const char* kernel;  ///< as the launch names it
  int line;
  dim3 grid = {}, block = {};
  std::size_t dynamic_shared = 0;
};

/// Runs `thread` once for each thread of the launch.
void run(const Launch& launch, const std::function<void()>& thread);

/// A launch as the rewritten source makes it: Kernel("scale", line, body).configured(grid,
/// block)(arguments).
template <class Body>
class Kernel {
 public:
  Kernel(const char* name, int line, Body body) : launch_{name, line}, body_(body) {}

  Kernel& configured(dim3 grid, dim3 block, std::size_t dynamic_shared = 0) {
    launch_.grid = grid;
    launch_.block = block;
    launch_.dynamic_shared = dynamic_shared;
    return *this;
  }

  template <class... Arguments>
  void operator()(Arguments... arguments) {
    run(launch_, [&] { body_(arguments...); });
  }

 private:
  Launch launch_;
  Body body_;
};

/// __syncthreads() on that line.
void sync_threads(int line);

/// The running block's variable of that key. It starts as signalling NaNs.
void* shared_variable(const void* key, std::size_t bytes);
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

/// A case begins: device memory is empty, and there was no error. `seed` draws the orders.
void begin(std::uint64_t seed);
/// What was noted since: each kind of protocol/fact_kinds.hpp and text once, the first few of each kind.
/// Memory that was not freed is told of a case that has finished.
Facts end(bool finished);

}  // namespace course::gpu
