#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "player/status.hpp"
#include "trace/trace.hpp"

/// Definitions of MPI_Send, MPI_Recv, ... that stand before the library's own (the profiling interface, MPI
/// standard chapter 15): link this library into an executable and every MPI call of the executable and of the
/// shared objects it loads passes through. Outside begin() .. end() calls go straight to the library.
namespace course::mpi_layer {

struct Options {
  /// Every send completes only when its receive has started, so that buffering never hides a deadlock.
  bool synchronous_sends = false;
  /// Keep a Span for each call, for the trace.
  bool record_spans = false;
};

/// What was seen of conduct. `kind` is one of the names below; `text` is a clause a student can read.
struct Fact {
  std::string kind;
  std::string text;
};
inline constexpr const char* fact_any_source = "any_source";
inline constexpr const char* fact_world = "world_communicator";
inline constexpr const char* fact_self_message = "self_message";
inline constexpr const char* fact_invalid_peer = "invalid_peer";
inline constexpr const char* fact_overlapping_buffers = "overlapping_buffers";
inline constexpr const char* fact_collective = "collective";
inline constexpr const char* fact_unfinished_request = "unfinished_request";

struct Report {
  std::map<int, std::int64_t> bytes_sent_to;  ///< by rank of the case's communicator, point to point
  std::int64_t collective_bytes = 0;          ///< this rank's receive buffers of collectives
  std::vector<Fact> facts;                    ///< each kind and text once
  std::vector<Span> spans;                    ///< seconds since begin(); empty unless record_spans
};

/// Starts watching a case that is played on `comm`; `status` (may be null) is kept up to date for the judge.
void begin(MPI_Comm comm, Options options, RankStatus* status);

/// Stops watching and tells what was seen. Requests still open are cancelled or completed where that is possible,
/// and told as unfinished_request.
Report end();

}  // namespace course::mpi_layer
