#include "runner/deadlock.hpp"

#include <algorithm>

#include "runner/deadlock_text.hpp"
#include "runner/wait_for_graph.hpp"

namespace course {

namespace {

/// Finds the reason, in the order of how much each explains: operations that miss each other and cycles hold
/// up everybody behind them, a rank that is gone those who wait for it.
class Explanation {
 public:
  explicit Explanation(const std::vector<RankSnapshot>& ranks) : ranks_(ranks), graph_(ranks) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (waits(ranks[rank])) waiting_.push_back(static_cast<int>(rank));
    }
  }

  Deadlock find() const {
    Deadlock still = reason();
    still.proven = still.proven || graph_.is_final();
    return still;
  }

 private:
  using Kind = Deadlock::Kind;

  Deadlock reason() const {
    const std::vector<NearMiss> misses = graph_.near_misses();
    if (!misses.empty()) return told(Kind::NoMatch, waiting_, conclude_near_miss(misses[0]));
    if (std::optional<Deadlock> found = cycle()) return *found;
    if (std::optional<Deadlock> found = waits_for_finished()) return *found;
    if (std::optional<Deadlock> found = collectives()) return *found;
    return told(Kind::NoMatch, waiting_, conclude_no_match(ranks_, graph_, waiting_));
  }

  Deadlock told(Kind kind, const std::vector<int>& ranks, const std::string& conclusion) const {
    Deadlock still{.kind = kind, .ranks = ranks, .receives = {}, .text = {}};
    for (const int rank : ranks) still.receives.push_back(ranks_[rank].receives);
    still.text = describe_ranks(ranks_, graph_, ranks) + conclusion;
    return still;
  }

  std::optional<Deadlock> cycle() const {
    const std::vector<Wait> path = graph_.cycle();
    if (path.empty()) return std::nullopt;
    std::vector<int> in_order;
    for (const Wait& wait : path) in_order.push_back(wait.rank);
    const auto all_are = [&](PendingOperation::Kind kind) {
      return std::all_of(path.begin(), path.end(),
                         [&](const Wait& wait) { return wait.operation->kind == kind; });
    };
    const bool all_send = all_are(PendingOperation::Kind::Send);
    Deadlock still = told(Kind::Cycle, in_order, conclude_cycle(in_order, all_send));
    still.all_send = all_send;
    still.all_receive = all_are(PendingOperation::Kind::Receive);
    still.proven = graph_.is_final(path);
    return still;
  }

  std::optional<Deadlock> waits_for_finished() const {
    for (const int rank : waiting_) {
      for (const Wait& wait : graph_.unmet(rank)) {
        if (!graph_.waits_only_for_gone(wait)) continue;
        return told(Kind::WaitsForFinished, waiting_, conclude_finished(ranks_, wait, graph_.peers(wait)));
      }
    }
    return std::nullopt;
  }

  std::optional<Deadlock> collectives() const {
    const auto inside = [&](int rank) { return graph_.collective(rank) != nullptr; };
    if (std::none_of(waiting_.begin(), waiting_.end(), inside)) return std::nullopt;
    const auto same = [&](int rank) {
      return inside(rank) && is_same_collective(*graph_.collective(rank), *graph_.collective(waiting_[0]));
    };
    if (!inside(waiting_[0]) || !std::all_of(waiting_.begin(), waiting_.end(), same)) {
      return told(Kind::CollectiveMismatch, waiting_, conclude_collectives(graph_, waiting_));
    }
    if (waiting_.size() == ranks_.size()) return std::nullopt;
    return told(Kind::WaitsForFinished, waiting_,
                conclude_collective_without(ranks_, *graph_.collective(waiting_[0])));
  }

  const std::vector<RankSnapshot>& ranks_;
  WaitForGraph graph_;
  std::vector<int> waiting_;
};

}  // namespace

std::optional<Deadlock> find_deadlock(const std::vector<RankSnapshot>& ranks) {
  const auto is_still = [&](const RankSnapshot& rank) {
    return (waits(rank) || is_gone(rank)) && rank.case_index == ranks[0].case_index;
  };
  if (!std::all_of(ranks.begin(), ranks.end(), is_still)) return std::nullopt;
  if (std::none_of(ranks.begin(), ranks.end(), waits)) return std::nullopt;
  return Explanation(ranks).find();
}

}  // namespace course
