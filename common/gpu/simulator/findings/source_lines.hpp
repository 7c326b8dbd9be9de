#pragma once

#include <cstdint>
#include <string>

namespace course::gpu {

/// Where the instruction stands in the source, as the compiler's debugging information (-g1) says: "line 31",
/// of a header "line 31 of tiles.hpp". "an unknown line" without it.
std::string source_line(std::uint64_t instruction);

/// Stands for a line that the caller knows, where an instruction is asked for.
std::uint64_t site_of_line(int line);

}  // namespace course::gpu
