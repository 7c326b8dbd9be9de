#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace course::demo {

/// What one rank tells about its part, beside the numbers that it computed.
struct RankResult {
  std::int64_t tokens = 0;
  std::int64_t bytes_sent = 0;        ///< point to point
  std::int64_t collective_bytes = 0;  ///< received in collectives
  RankTrace trace;                    ///< on rank 0's clock
  std::vector<std::string> facts;     ///< what the MPI layer noticed
  std::string host_id;
  std::string host_name;
  int cores = 1;  ///< of its host
};

/// One line of JSON, and back.
std::string to_text(const RankResult& result);
RankResult rank_result_from(const std::string& text);

/// Puts a rank's spans in order of time and trims what overlaps: compute is timed by one clock reading and
/// MPI calls by another, a microsecond or so apart.
void make_disjoint(std::vector<Span>& spans);

}  // namespace course::demo
