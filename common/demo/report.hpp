#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "demo/demonstration.hpp"
#include "timed/timed.hpp"

namespace course::demo {

/// All that is known after a run.
struct RunResult {
  const Demonstration& shown;
  std::vector<RingResult> rings;  ///< those of `shown`

  /// Names of those whose answer is not right.
  std::vector<std::string> wrong_rings() const;
};

/// Compares every ring's answer with the reference.
RunResult compared(const Demonstration& shown, std::vector<RingResult> rings, const Progress& progress);

/// The report for people: what ran, the rings beside each other, whether they are right, the timelines. A
/// verbose one has the tables by rank and every output's verdict, too.
std::string report_text(const RunResult& run, const timed::Page& page, bool verbose);

/// One JSON object: `rings` has each ring by itself, what stands beside it is the first one's. An error that
/// is not finite is null.
std::string report_json(const RunResult& run);

/// What was written, or why nothing was.
struct Saved {
  bool written;
  std::string line;
};

/// Writes the run's files, with its first ring's answer, into `out`, or its pictures alone into `pictures`
/// where `out` is empty. Where a ring's answer is wrong nothing is written, and gradients of an earlier run
/// do not stay beside an output that has none.
/// Throws what OutputFolder throws for `out`; that `pictures` cannot be written is only told.
Saved save(const std::filesystem::path& out, const std::filesystem::path& pictures, const RunResult& run);

}  // namespace course::demo
