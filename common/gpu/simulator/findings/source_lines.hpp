#pragma once

#include <cstdint>
#include <string>

#include "protocol/fact.hpp"

namespace course::gpu {

/// Where the instruction stands in the source, as the compiler's debugging information (-g1) says, without
/// which it is not known.
SourcePlace source_place(std::uint64_t instruction);
/// "line 31", of a header or the adapter "line 31 of tiles.hpp"; "an unknown line".
std::string text_of(const SourcePlace& place);
/// text_of() its source_place().
std::string source_line(std::uint64_t instruction);

/// A call's line and file as one number, for call_place() and line_text().
int place_of_call(int line, const char* file);
SourcePlace call_place(int place);
/// text_of() its call_place().
std::string line_text(int place);

/// Stands for a line, or a place, that the caller knows, where an instruction is asked for.
std::uint64_t site_of_line(int place);

}  // namespace course::gpu
