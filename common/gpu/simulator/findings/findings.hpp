#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gpu/simulator/kernel/geometry.hpp"
#include "protocol/fact.hpp"

/// What the simulator has found wrong in a case, told as facts of protocol/fact_kinds.hpp.
namespace course::gpu {

/// Notes a finding, the first few of each kind, each once.
void note(Fact fact);
/// Whether a finding of that kind about these two places in the code is the first one; else spares its text.
bool is_first(const char* kind, std::uint64_t one_place, std::uint64_t other_place);

/// Each finding is told as soon as it is noted, too, until take_findings(): a case that comes to no end has
/// told them.
void tell_findings_to(std::function<void(const Fact& fact)> listener);

/// What was noted since the last call.
Facts take_findings();

std::string text_of(const uint3& at);
/// The i-th of what an extent has, x running fastest.
uint3 place(std::uint64_t i, const dim3& extent);

}  // namespace course::gpu
