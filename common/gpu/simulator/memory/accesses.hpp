#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/simulator/memory/races.hpp"

/// Each access to memory, as soon as it is made. Those of kernels come from the compiler, which calls
/// __tsan_read4 and its like before them (-fsanitize=thread, without its library); those of operations that
/// are no kernels from whoever carries them out.
namespace course::gpu {

/// An operation's access to bytes that its caller has found to be an allocation's.
void touch(const void* address, std::size_t bytes, AccessKind kind);

/// An access at this place of the source. Ends the thread that makes it, for good, where the device would.
void check_access(const void* address, std::size_t bytes, AccessKind kind, std::uint64_t site, bool aligned);

}  // namespace course::gpu
