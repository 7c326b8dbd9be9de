#pragma once

#include <cstdint>
#include <span>

namespace course {

/// Memory that a block computation reads, or also writes.
struct ComputeBuffer {
  const void* data;
  std::int64_t bytes;
  bool written = false;
};

/// The player's blocks tell it when a computation begins, when it pauses after a tile to call the student's
/// between_tiles, and when it ends: so an instrument sees it beside the student's MPI calls. This one listens
/// to nothing.
class ComputeObserver {
 public:
  virtual ~ComputeObserver() = default;
  virtual void begin(std::span<const ComputeBuffer>) {}
  virtual void pause() {}
  virtual void end() {}
};

}  // namespace course
