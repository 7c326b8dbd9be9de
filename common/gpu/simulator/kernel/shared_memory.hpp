#pragma once

#include <cstddef>

#include "gpu/simulator/memory/memory.hpp"

/// The shared memory of the block that runs. Its variables lie at the same places for all blocks of a launch.
namespace course::gpu {

/// A launch begins.
/// @param most bytes, those of the variables and the dynamic ones together
void begin_shared_memory(std::size_t dynamic_bytes, std::size_t most);
/// The next block has it: nobody has written to it.
void hand_shared_memory_on();

/// "4 bytes beyond the end of the 512 bytes of dynamic shared memory"
Described describe_shared(const void* address, std::size_t bytes);

}  // namespace course::gpu
