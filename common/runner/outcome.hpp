#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/case.hpp"
#include "protocol/timing.hpp"
#include "runner/deadlock.hpp"
#include "tensor/tensor.hpp"
#include "trace/trace.hpp"

namespace course {

/// Who did something, at the beginning of a text: "rank 2", or "the function" where there is one rank.
inline std::string rank_label(std::size_t rank, std::size_t ranks) {
  return ranks > 1 ? "rank " + std::to_string(rank) : "the function";
}

/// "of signal 11 (Segmentation fault)"
std::string of_signal(int signal);

/// What came back from a case.
struct Outcome {
  enum class Ending {
    NotPlayed,
    Finished,
    Todo,  ///< a skeleton's exception
    Threw,
    Crashed,
    Deadlock,
    Stuck,      ///< no progress for as long as the limit, or no end
    OverLimit,  ///< of what a confined player may use
    Lost,       ///< the player ended without a word
  } ending = Ending::NotPlayed;
  std::string text = {};    ///< one or several lines on anything but Finished
  std::string thrown = {};  ///< the type of what was thrown; empty: not known, or nothing
  /// Crashed, and no sanitizer has said where.
  bool by_signal = false;
  /// Threw: the fact that the exception tells, where an instrument has thrown it.
  std::optional<Fact> told = {};
  std::optional<Deadlock> deadlock = {};
  std::vector<int> world_ranks = {};     ///< world_ranks[r] played rank r; empty unless it was played
  std::vector<Facts> facts = {};         ///< by rank; told by ranks that came to no end, too
  std::vector<RankReport> reports = {};  ///< by rank; empty unless every rank reported
  std::vector<std::map<std::string, Tensor>> outputs = {};  ///< by rank; empty unless Finished
  std::vector<RankTiming> timings = {};  ///< by rank; empty unless the case was timed and is Finished
};

/// What one rank did in the call of a timed case that is shown.
struct RankRecord {
  CallTime call;    ///< when it was
  RankTrace trace;  ///< on the clock that all ranks of the launch share
  /// In messages and, as they are defined, in MPI's collectives: but not beside those of NCCL, for which a
  /// collective only hands out the id.
  std::int64_t bytes_sent = 0;
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
