#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "demo/comparison.hpp"
#include "demo/rank_result.hpp"

namespace course::demo {

/// All that is known after a run.
struct RunSummary {
  Shape shape;
  Index heads = 0, seq = 0, head_dim = 0;
  std::string input;  ///< Input::description
  bool mine = false;
  int runs = 1;  ///< of which the fastest is shown
  std::vector<RankResult> ranks;
  Comparison comparison;
};

/// What was written where.
struct SavedFiles {
  std::filesystem::path folder;    ///< empty: nothing was
  std::vector<std::string> names;  ///< inside it
  std::string why_not;             ///< when there was a reason to
};

/// The report for people: what ran, a table by rank, the comparison, the timeline, the files.
std::string report_text(const RunSummary& run, const SavedFiles& saved, int columns, bool colour);

/// One JSON object. A relative error that is not finite is null.
std::string report_json(const RunSummary& run);

/// "Ring attention on 4 ranks: 512 tokens, 12 heads of 32".
std::string timeline_title(const RunSummary& run);

std::vector<RankTrace> traces(const RunSummary& run);

/// "1.13 MiB".
std::string format_bytes(std::int64_t bytes);

}  // namespace course::demo
