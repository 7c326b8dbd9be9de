#pragma once

#include <cstdint>
#include <string>

namespace course::gpu {

/// Where the instruction stands in the source, as the compiler's debugging information (-g1) says: "line 31",
/// of a header or the adapter "line 31 of tiles.hpp". "an unknown line" without it.
std::string source_line(std::uint64_t instruction);

/// A call's line and file as one number, for line_text().
int place_of_call(int line, const char* file);
/// "line 31", of a header or the adapter "line 31 of tiles.hpp".
std::string line_text(int place);

/// Stands for a line, or a place, that the caller knows, where an instruction is asked for.
std::uint64_t site_of_line(int place);

}  // namespace course::gpu
