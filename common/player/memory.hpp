#pragma once

#include <cstdint>

namespace course {

/// Starts a measurement of the process's peak memory: free heap goes back to the system, large allocations
/// get mappings of their own, and the kernel's high-water mark is reset (/proc/self/clear_refs). Returns the
/// resident bytes now, or -1 where the kernel does not allow it.
std::int64_t reset_peak_memory();

/// The highest resident bytes since the reset (VmHWM), or -1.
std::int64_t peak_memory();

}  // namespace course
