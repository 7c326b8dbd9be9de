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

/// Told by a lesson's adapter when the computation that it hands to the student begins, pauses after a tile
/// to call the student's between_tiles, and ends, so that an instrument sees it beside the student's MPI
/// calls. This one listens to nothing.
class ComputeObserver {
 public:
  virtual ~ComputeObserver() = default;
  virtual void begin(std::span<const ComputeBuffer>) {}
  virtual void pause() {}
  virtual void end() {}
};

}  // namespace course
