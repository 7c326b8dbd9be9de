#pragma once

#include "gpu/simulator/memory/memory.hpp"
#include "gpu/simulator/memory/races.hpp"
#include "protocol/fact.hpp"

namespace course::gpu {

/// Notes a race, once for each two places in the source.
/// @param same_value both wrote what was there already
void tell_race(const Access& earlier, const Access& later, Region region, bool same_value);

/// Notes that the memory there was freed by an operation that nothing puts before the access, if that is so.
bool tell_unordered_free(const void* address, const Access& access);

/// What does it: "scale", "cudaMemcpy"; "the host's code".
std::string call_of(OperationNumber operation);
/// Where an access stands in the source; of an operation that is no kernel, where it was called.
SourcePlace place_of(const Access& access);

/// "scale, block (0, 0, 0), thread (3, 0, 0) on line 12", "cudaMemcpy on line 14", "the host's code on line
/// 15"
std::string text_of(const Access& access);

}  // namespace course::gpu
