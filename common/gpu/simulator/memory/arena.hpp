#pragma once

#include <cstddef>
#include <cstdint>

namespace course::gpu {

/// Addresses that are set aside; they hold zeros, and take memory once they are written to. To the kernel it
/// is shared memory, which the player's MemoryMeter leaves out: none of it is the submission's.
class Arena {
 public:
  /// Throws std::runtime_error where the system does not allow it.
  explicit Arena(std::size_t bytes);

  std::byte* base() const { return base_; }
  bool has(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base_) < bytes_;
  }
  /// Gives the memory of `bytes` bytes from `offset` on back: they are zeros again.
  void release(std::size_t offset, std::size_t bytes);
  /// They are zeros again; the memory of not too many is kept, since getting it anew takes longer.
  void clear(std::size_t offset, std::size_t bytes);
  /// Whoever touches these pages is ended by the system.
  void forbid(std::size_t offset, std::size_t bytes);

 private:
  std::byte* base_;
  std::size_t bytes_;
};

}  // namespace course::gpu
