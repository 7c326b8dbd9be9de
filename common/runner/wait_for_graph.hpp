#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fact.hpp"
#include "protocol/status_page.hpp"

namespace course {

/// What a rank's page tells of a communicator (KnownCommunicator).
struct SeenCommunicator {
  std::uint64_t id = 0;
  std::int32_t started = 0;
  std::uint64_t awaited = 0;
  std::vector<int> members;  ///< case ranks in its order, or outside_peer
};

/// A plain copy of one rank's page, in the order of the case's ranks.
struct RankSnapshot {
  Phase phase = Phase::Starting;
  std::int32_t pid = 0;  ///< 0: the page is not kept
  std::int32_t case_index = -1;
  std::uint64_t completed = 0;
  std::int32_t receives = 0;  ///< completed in this case
  std::int32_t signal = 0;
  std::vector<PendingOperation> pending;
  std::string text;
  std::optional<Fact> told;      ///< by what it threw
  Facts facts;                   ///< as far as the page had room
  bool pending_complete = true;  ///< false when the page had no room for all of them
  std::vector<SeenCommunicator> communicators;
  bool communicators_complete = false;  ///< those are all that the rank has known in the case
  std::array<std::uint64_t, max_summed_ranks> sent_sum{};
  std::array<std::uint64_t, max_summed_ranks> received_sum{};
};

/// Inside MPI, or polling it.
bool waits(const RankSnapshot& rank);

/// Finished, threw, crashed: it will start no operation any more.
bool is_gone(const RankSnapshot& rank);

/// An operation that a rank waits for.
struct Wait {
  int rank;
  const PendingOperation* operation;
};

/// Two operations that were meant for each other, but differ in tag or communicator.
struct NearMiss {
  Wait send;
  Wait receive;
};

/// Who waits for whom, as the pages of all ranks of a case show it at one moment.
class WaitForGraph {
 public:
  explicit WaitForGraph(const std::vector<RankSnapshot>& ranks) : ranks_(ranks) {}

  /// The sends and receives that hold `rank` up: those that it waits for and that no operation of another
  /// rank meets.
  std::vector<Wait> unmet(int rank) const;
  /// The collective that `rank` waits in, or null.
  const PendingOperation* collective(int rank) const;
  /// The communicator of the operation, as its rank knows it; null where the page does not tell.
  const SeenCommunicator* communicator(const Wait& wait) const;
  /// The members of a collective's communicator that are known not to have begun it.
  std::vector<int> absent(const Wait& collective) const;
  /// The ranks that an operation waits for: one, or all others where it names any.
  std::vector<int> peers(const Wait& wait) const;
  /// A cycle of ranks, each waiting for the next; it starts with its lowest rank. Empty if there is none.
  std::vector<Wait> cycle() const;
  /// Waited for on both sides, and different only in tag or communicator.
  std::optional<NearMiss> near_miss() const;
  /// A send to a rank that waits for another one's message.
  std::optional<NearMiss> misdirected() const;
  /// Whether the rank has begun to receive, waits for that or not.
  bool receives(int rank) const;
  /// How many ranks ahead the peers of all sends and receives of these ranks are that nothing meets, where
  /// that is one number and there are both; else 0.
  int one_peer_ahead(const std::vector<Wait>& cycle) const;
  /// No pending operation of any rank can ever complete.
  bool is_final() const;
  /// The ranks of this cycle will never go on, whatever the others do.
  bool is_final(const std::vector<Wait>& cycle) const;

 private:
  bool is_met(int rank, const PendingOperation& operation) const;
  /// Depth first: `path` leads to `rank`. On success the path is the cycle, from any of its ranks.
  bool extend_cycle(int rank, std::vector<char>& seen, std::vector<Wait>& path) const;
  /// Both know of every message between them that has been completed, so neither is about to find out.
  bool sums_agree(int a, int b) const;
  /// Each collective that is pending lacks a member that has not begun it, and without whose part it cannot
  /// end.
  bool collectives_are_final() const;
  bool is_final_collective(const Wait& collective) const;

  const std::vector<RankSnapshot>& ranks_;
};

}  // namespace course
