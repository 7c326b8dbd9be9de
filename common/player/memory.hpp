#pragma once

#include <cstdint>
#include <fstream>

namespace course {

/// Measures the process's peak memory. Made before the process hides itself from its like: from then on the
/// kernel opens /proc/self/clear_refs to nobody.
class MemoryMeter {
 public:
  MemoryMeter();

  /// Starts a measurement: free heap goes back to the system, large allocations get mappings of their own,
  /// and the kernel's high-water mark is reset. Returns the resident bytes now, or -1 where the kernel does
  /// not allow it.
  std::int64_t reset();
  /// The highest resident bytes since the reset (VmHWM), or -1.
  static std::int64_t peak();

 private:
  std::ofstream clear_;
};

}  // namespace course
