#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/simulator/memory/races.hpp"

/// Each access to memory, as soon as it is made. Those of kernels come from the compiler, which calls
/// __tsan_read4 and its like before them (-fsanitize=thread, without its library); those of operations that
/// are no kernels from whoever carries them out.
namespace course::gpu {

/// Whether bytes that an operation is about to access are an allocation's, or the host's own, still: memory
/// that was freed after the call, in another stream, breaks what is carried out later, and is told.
bool is_still_there(const void* pointer, std::size_t bytes);
/// An operation's access to bytes that its caller has found to be an allocation's.
void touch(const void* address, std::size_t bytes, AccessKind kind);

/// An access at this place of the source. Ends the thread that makes it, for good, where the device would.
void check_access(const void* address, std::size_t bytes, AccessKind kind, std::uint64_t site, bool aligned);

}  // namespace course::gpu
