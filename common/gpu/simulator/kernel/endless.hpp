#pragma once

#include <cstdint>

/// Loops that nothing else sees: without a barrier, a meeting of the warp or an access to memory().
namespace course::gpu {

/// How long a thread may compute without any of these. Of the processor's time, so that a busy machine makes
/// no loop endless.
inline constexpr double endless_after_s = 2;
/// The same once a loop was endless: the next case most likely comes to it, too.
inline constexpr double next_endless_after_s = 0.2;

/// While it lives, a thread of the kernel that runs in a checked case is paused for good once it has computed
/// for so long.
class EndlessWatch {
 public:
  /// @param of_kernel an object whose class the kernel's source has made: what is paused is code of that
  /// source, never a library's that it has called
  explicit EndlessWatch(const void* of_kernel);
  ~EndlessWatch();
  EndlessWatch(const EndlessWatch&) = delete;
  EndlessWatch& operator=(const EndlessWatch&) = delete;

  /// Where the thread stood; 0: none was paused.
  std::uint64_t paused_at() const;
};

}  // namespace course::gpu
