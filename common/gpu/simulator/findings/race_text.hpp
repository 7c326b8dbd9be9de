#pragma once

#include "gpu/simulator/memory/memory.hpp"
#include "gpu/simulator/memory/races.hpp"

namespace course::gpu {

/// Notes a race, once for each two places in the source.
/// @param same_value both wrote what was there already
void tell_race(const Access& earlier, const Access& later, Region region, bool same_value);

/// Notes that the memory there was freed by an operation that nothing puts before the access, if that is so.
bool tell_unordered_free(const void* address, const Access& access);

/// "scale, block (0, 0, 0), thread (3, 0, 0) on line 12", "cudaMemcpy on line 14", "the host's code on line
/// 15"
std::string text_of(const Access& access);

}  // namespace course::gpu
