#pragma once

#include <time.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace course {

/// Seconds on this host's monotonic clock.
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds that the calling thread has had a core.
inline double thread_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A block that was computed. Who waits for a core, or for others, has no CPU time meanwhile.
struct BlockTime {
  int owner = 0;
  double cpu_s = 0;  ///< of the rank's thread, with what is called between tiles
};

/// When a call began and ended, on the clock that all ranks of a launch share, and the blocks that it
/// computed, in that order.
struct CallTime {
  double begin_s = 0;
  double end_s = 0;
  std::vector<BlockTime> blocks = {};
};

/// What one rank saw of the calls of a timed case: spans.json beside its outputs (docs/case-format.md).
struct RankTiming {
  std::vector<CallTime> calls;
  int shown = 0;            ///< the call whose spans these are, the same on all ranks
  std::vector<Span> spans;  ///< in order, without overlap among those of one stream
  std::string host_id;      ///< tells the machines of a job apart
  int cores = 1;            ///< of its host
};

/// Puts spans in order of time and trims what overlaps: compute is timed by one clock reading and MPI calls
/// by another, a microsecond or so apart.
void make_disjoint(std::vector<Span>& spans);

void write_timing(const std::filesystem::path& rank_folder, const RankTiming& timing);
/// Throws std::runtime_error with what is wrong with it; `name` is what the message calls the text.
RankTiming parse_timing(const std::string& text, const std::filesystem::path& name);

}  // namespace course
