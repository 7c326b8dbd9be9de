#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/wait_for_graph.hpp"

namespace course {

/// How long a deadlock must have lasted before a launch is ended for it.
inline constexpr double deadlock_s = 2;
/// A proven one needs no patience, only a second look that finds it unchanged.
inline constexpr double proven_deadlock_s = 0.1;

struct Deadlock {
  enum class Kind { Cycle, WaitsForFinished, CollectiveMismatch, NoMatch } kind;
  std::vector<int> ranks;    ///< the cycle in waiting order, or the ranks that wait
  bool all_send = false;     ///< every rank of the cycle waits in a send, and none has begun to receive
  bool all_receive = false;  ///< every rank of the cycle waits in a receive
  /// Every rank of the cycle that sends does so to the rank so many ahead, and every one that receives does
  /// so from that same rank, which sends to another; 0 where it is not so.
  int one_peer_ahead = 0;
  std::vector<int> receives;            ///< how many each of `ranks` has completed
  std::vector<int> empty_senders = {};  ///< those of `ranks` that wait in a send of 0 bytes
  std::vector<int> left_at_once = {};   ///< ranks that are gone and had completed no receive
  std::vector<std::string> calls = {};  ///< the names of those that any rank waits in
  /// The cycle's ranks, or all, will never go on: what they wait for matches no pending operation, and no
  /// completion is on its way. True at one moment, and so for ever, when no `completed` and no phase has
  /// changed since an earlier snapshot. It depends on no clock.
  bool proven = false;
  std::string text;  ///< several lines: who waits for whom, with call, peer, tag, bytes and receives of each
};

/// What holds the ranks up, if every rank is inside MPI, polling it, or finished; nullopt while one computes
/// or is in another case than the others, and when none waits.
std::optional<Deadlock> find_deadlock(const std::vector<RankSnapshot>& ranks);

}  // namespace course
