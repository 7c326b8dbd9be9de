#pragma once

#include <cstddef>
#include <functional>

#include "gpu/simulator/memory/arena.hpp"

/// The threads of a block, each a fiber with a stack of its own that is used again by the next block. A fiber
/// that is left before its end is never gone on with, and nothing is unwound.
namespace course::gpu {

class Fiber {
 public:
  Fiber() = default;
  /// Of the thread of this place in its block, from 0 on, below most_threads. The body, the same of all
  /// fibers, does not return: it ends with go_on_with() or pause().
  Fiber(std::size_t thread, void (*body)());

  /// Goes on with it, from outside all fibers, until one of them pauses.
  void resume();
  /// The running fiber goes on with another one, which costs half of a pause.
  static void go_on_with(Fiber& next);
  /// The running fiber goes back to who has resumed one.
  static void pause();

 private:
  void* context_ = nullptr;
};

inline constexpr std::size_t most_threads = 1024;

/// The stacks of all.
extern Arena stacks_arena;
inline bool on_a_fibers_stack(const void* address) {
  return stacks_arena.has(address);
}

/// Calls it on a stack as large as a host thread's, which libraries count on.
void call_on_large_stack(const std::function<void()>& function);

}  // namespace course::gpu
