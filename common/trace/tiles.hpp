#pragma once

#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace course {

/// The label of the moment between two tiles of a block in which MPI is given time.
inline constexpr const char* progress_label = "progress";

/// The same traces with the tiles of a block in one bar where what lies between them is only progress shorter
/// than 1/300 of the time shown: too short to draw, and hundreds of it would hide the rest. Its time then
/// counts as compute; a trace for Perfetto keeps it.
std::vector<RankTrace> with_joined_tiles(std::vector<RankTrace> traces);

}  // namespace course
