#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/outcome.hpp"
#include "trace/trace.hpp"

namespace course {

/// What one rank did in the call of a timed case that is shown.
struct RankRecord {
  CallTime call;                      ///< when it was
  RankTrace trace;                    ///< on the clock that all ranks of the launch share
  std::int64_t bytes_sent = 0;        ///< point to point
  std::int64_t collective_bytes = 0;  ///< received in collectives
  std::vector<std::string> facts;     ///< what the MPI layer noticed; of collectives their bytes tell
  std::string host_id;
  int cores = 1;  ///< of its host
};

/// By rank. The outcome is that of a timed case, and Finished.
std::vector<RankRecord> rank_records(const Outcome& outcome);

/// How long each call of it took, by the rank that took longest.
std::vector<double> slowest_seconds(const Outcome& outcome);

}  // namespace course
