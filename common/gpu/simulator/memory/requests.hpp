#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/simulator/memory/memory.hpp"
#include "gpu/simulator/memory/races.hpp"
#include "protocol/kernel_counts.hpp"

/// What kernels ask of memory, by the requests of warps: docs/cuda-supported.md defines them. A device makes
/// a request of what a warp's lanes access with one instruction. Here lanes run one after another, so their
/// accesses are put together afterwards, in one of two ways:
///   a log of each lane's accesses, merged where the lanes meet: no look-up, and 24 bytes an access;
///   open requests by place and number, to which each lane adds its address (chosen): 5 bytes an access, and
///   a look-up, which only the cases pay that are counted (Now::counted).
/// Sources: CUDA C++ Programming Guide 13, device memory accesses and shared memory of compute capability
/// 5.x; Nsight Compute's profiling guide, requests and sectors.
namespace course::gpu {

/// A kernel begins; what follows is its.
void count_launch(const std::string& kernel);
/// A block of it begins, which has so many warps.
void begin_requests(std::size_t warps);
/// The running lane's access to bytes of memory(), of which a device's instruction moves so many at once.
void add_to_requests(std::size_t offset, std::size_t bytes, AccessKind kind, std::uint64_t site,
                     std::size_t at_once);
/// Counts a kernel's access, where the case is counted.
inline void count_access(const void* address, std::size_t bytes, AccessKind kind, std::uint64_t site,
                         std::size_t at_once) {
  if (now.counted && now.in_kernel && memory().has(address))
    add_to_requests(offset_of(address), bytes, kind, site, at_once);
}
/// Lanes of a warp have met; `all`: those that have not ended, so that no open request gets any more of them.
void lanes_have_met(std::size_t warp, std::uint32_t lanes, bool all);
/// All threads of the block have met, or it has ended.
void close_requests();

/// counts_by_kernel() of simulator.hpp begins anew.
void forget_counts();

}  // namespace course::gpu
