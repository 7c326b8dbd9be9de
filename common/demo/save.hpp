#pragma once

#include <filesystem>
#include <optional>

#include "demo/demonstration.hpp"
#include "demo/report.hpp"

namespace course::demo {

/// Writes the run's files, with its first ring's answer, into --out, or its pictures alone into .course/demo
/// below COURSE_ROOT or else the working folder. Where a ring's answer is wrong nothing is written, and
/// gradients of an earlier run do not stay beside an output that has none. Throws what OutputFolder throws
/// for --out; that the default folder cannot be written is only told.
SavedFiles save(const std::optional<std::filesystem::path>& out, const RunSummary& run,
                const RingAnswer& answer);

}  // namespace course::demo
