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

/// Where text goes.
struct Page {
  int columns = 100;
  bool colour = false;
  bool verbose = false;
};

/// The report for people: what ran, the rings beside each other, whether they are right, the timelines, the
/// files. A verbose one has the tables by rank and every output's verdict, too.
std::string report_text(const RunSummary& run, const SavedFiles& saved, const Page& page);

/// One JSON object: `rings` has each ring by itself, what stands beside it is the first one's. An error that
/// is not finite is null.
std::string report_json(const RunSummary& run);

}  // namespace course::demo
