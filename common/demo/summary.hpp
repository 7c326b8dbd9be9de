#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "demo/comparison.hpp"
#include "demo/demonstration.hpp"

namespace course::demo {

/// What one ring did.
struct RingSummary {
  RingKind kind;
  std::vector<int> tokens;  ///< of each rank
  std::vector<RankRecord> ranks;
  Comparison comparison;
};

/// All that is known after a run.
struct RunSummary {
  Shape shape;
  Index heads = 0, seq = 0, head_dim = 0;
  std::string input;  ///< Input::description
  bool mine = false;
  int runs = 1;                    ///< of each ring, of which the fastest is shown
  std::vector<RingSummary> rings;  ///< one at least, of one input and on the same ranks

  bool passed() const { return wrong_rings().empty(); }
  bool backward() const { return rings.front().comparison.gradients.has_value(); }
  /// Names of those whose answer is not right.
  std::vector<std::string> wrong_rings() const;
};

/// Compares every ring's answer with the reference.
RunSummary summarise(const Demonstration& shown, const std::vector<RingAnswer>& answers,
                     const Progress& progress);

/// From a rank's first span to its last.
double span_s(const RankTrace& trace);

/// span_s of the rank that took longest.
double slowest_s(const RingSummary& ring);

/// The share of all ranks' span_s in which they neither computed nor were idle: transfers and waits that no
/// work hid, MPI's progress between tiles among them.
double exposed(const RingSummary& ring);

/// By all ranks, point to point.
std::int64_t bytes_sent(const RingSummary& ring);

/// What each ring's ranks did, under "blocking ring: 12.3 ms".
std::vector<Timeline> timelines(const RunSummary& run);

/// The same to draw: the tiles of a block in one bar, as with_joined_tiles says.
std::vector<Timeline> joined_timelines(const RunSummary& run);

/// "Ring attention on 4 ranks: 512 tokens, 12 heads of 32".
std::string timeline_title(const RunSummary& run);

/// What the rings side by side can show here and what they cannot, in one line; empty for one ring.
std::string timeline_note(const RunSummary& run);

/// Whether some host has more ranks than cores.
bool share_cores(const RunSummary& run);

/// "1.13 MiB".
std::string format_bytes(std::int64_t bytes);

/// "3 tokens"
std::string plural(Index count, const std::string& noun);

/// "a, b and c"
std::string listed(const std::vector<std::string>& names);

/// Hosts that the ranks ran on.
std::size_t hosts_of(const RunSummary& run);

}  // namespace course::demo
