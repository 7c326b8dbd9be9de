#pragma once

#include <cstddef>
#include <cstdint>

namespace course::gpu {

/// Those of compute capability 8.0. Source: CUDA Programming Guide 13, technical specifications.
inline constexpr std::uint64_t most_threads_of_a_block = 1024;
inline constexpr std::size_t default_shared_bytes = 48 * 1024;
inline constexpr std::size_t most_shared_bytes = 163 * 1024;
inline constexpr std::size_t device_memory_bytes = std::size_t{8} << 30;

}  // namespace course::gpu
