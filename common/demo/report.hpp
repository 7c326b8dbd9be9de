#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "demo/summary.hpp"

namespace course::demo {

/// What was written where.
struct SavedFiles {
  std::filesystem::path folder;    ///< empty: nothing was
  std::vector<std::string> names;  ///< inside it
  std::string why_not;             ///< when there was a reason to
};

/// The report for people: what ran, tables by rank and ring, the comparison, the timelines, the files.
std::string report_text(const RunSummary& run, const SavedFiles& saved, int columns, bool colour);

/// One JSON object: `rings` has each ring by itself, what stands beside it is the first one's. An error that
/// is not finite is null.
std::string report_json(const RunSummary& run);

}  // namespace course::demo
