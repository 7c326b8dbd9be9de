#pragma once

#include <optional>
#include <string>
#include <vector>

#include "player/status.hpp"

namespace course {

/// A plain copy of one rank's page, in the order of the case's ranks.
struct RankSnapshot {
  Phase phase;
  std::int32_t case_index;
  std::uint64_t completed;
  std::int32_t hop;
  std::int32_t signal;
  std::vector<PendingOperation> pending;
  std::string text;
};

/// Copies the page under its seqlock; retries while the rank is writing.
RankSnapshot snapshot(const RankStatus& status);

struct Standstill {
  enum class Kind { Cycle, WaitsForFinished, CollectiveMismatch, NoMatch } kind;
  std::vector<int> ranks;  ///< the cycle in waiting order, or the ranks that wait
  bool all_send = false;   ///< every rank of the cycle waits in a send
  bool proven = false;     ///< no pending operation of any rank can match another's
  std::string text;        ///< several lines: who waits for whom, with call, peer, tag, bytes and hop of each
};

/// What holds the ranks up, if every rank is inside MPI, polling it, or finished; nullopt while one computes.
std::optional<Standstill> find_standstill(const std::vector<RankSnapshot>& ranks);

}  // namespace course
