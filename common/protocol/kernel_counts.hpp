#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace course {

/// What all launches of one kernel ask of memory, counted on the simulated GPU. docs/cuda-supported.md says
/// what a request is.
struct KernelCounts {
  std::string kernel = {};  ///< as its launch names it
  std::int64_t launches = 0;
  std::int64_t bytes_read = 0;  ///< of device memory, as its threads ask for them
  std::int64_t bytes_written = 0;
  std::int64_t requests = 0;  ///< of warps to device memory
  std::int64_t sectors = 0;   ///< of 32 bytes, in these requests
  std::int64_t shared_requests = 0;
  std::int64_t shared_passes = 0;   ///< of shared memory, in these requests
  std::int64_t bank_conflicts = 0;  ///< of these passes, those beyond what the extent of the requests needs

  bool operator==(const KernelCounts&) const = default;
  std::int64_t bytes() const { return bytes_read + bytes_written; }
  /// 0 without requests.
  double sectors_a_request() const {
    return requests == 0 ? 0 : static_cast<double>(sectors) / static_cast<double>(requests);
  }
};

/// By kernel, in the order of their first launches.
using CountsByKernel = std::vector<KernelCounts>;

}  // namespace course
