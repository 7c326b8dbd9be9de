#include "runner/deadlock.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

namespace course {

namespace {

using Operation = PendingOperation;

constexpr std::size_t compact_from_ranks = 8;
constexpr std::size_t operations_in_a_line = 4;

/// Whether the send of `sender` and the receive of `receiver` name each other.
bool name_each_other(int sender, const Operation& send, int receiver, const Operation& receive) {
  return send.kind == Operation::Kind::Send && receive.kind == Operation::Kind::Receive &&
         send.peer == receiver && (receive.peer == sender || receive.peer == any_peer);
}

bool match(int sender, const Operation& send, int receiver, const Operation& receive) {
  return name_each_other(sender, send, receiver, receive) && send.communicator == receive.communicator &&
         (receive.tag == any_tag || receive.tag == send.tag);
}

bool could_meet(int a, const Operation& x, int b, const Operation& y) {
  return y.communicator == unknown_communicator || match(a, x, b, y) || match(b, y, a, x);
}

/// Whether a collective cannot end on one rank before it has begun on all. The root of a broadcast, to name
/// one that can, may leave as soon as its data are on their way.
bool holds_all(const Operation& operation) {
  const std::string_view call = operation.call;
  constexpr std::string_view with_data[] = {"MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall",
                                            "MPI_Reduce_scatter_block"};
  return call == "MPI_Barrier" || (operation.bytes > 0 && std::ranges::count(with_data, call) > 0);
}

bool is_waited_for(const Operation& operation) {
  return operation.need != Operation::Need::None;
}

/// Finished, threw, crashed: it will start no operation any more.
bool is_gone(const RankSnapshot& rank) {
  return rank.phase == Phase::Finished || rank.phase == Phase::Threw || rank.phase == Phase::Crashed ||
         rank.phase == Phase::Done;
}

/// An operation that a rank waits for.
struct Wait {
  int rank;
  const Operation* operation;
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
  std::vector<Wait> unmet(int rank) const {
    std::vector<Wait> all;
    if (!waits(ranks_[rank])) return all;
    for (const Operation& operation : ranks_[rank].pending) {
      if (!is_waited_for(operation) || operation.kind == Operation::Kind::Collective) continue;
      const bool met = is_met(rank, operation);
      if (met && operation.need == Operation::Need::Any) return {};
      if (!met) all.push_back({rank, &operation});
    }
    return all;
  }

  /// The collective that `rank` waits in, or null.
  const Operation* collective(int rank) const {
    if (!waits(ranks_[rank])) return nullptr;
    for (const Operation& operation : ranks_[rank].pending) {
      if (is_waited_for(operation) && operation.kind == Operation::Kind::Collective) return &operation;
    }
    return nullptr;
  }

  /// The ranks that an operation waits for: one, or all others where it names any.
  std::vector<int> peers(const Wait& wait) const {
    const int size = static_cast<int>(ranks_.size());
    const int peer = wait.operation->peer;
    if (peer >= 0 && peer < size) return {peer};
    std::vector<int> others;
    for (int rank = 0; rank < size && peer == any_peer; ++rank) {
      if (rank != wait.rank) others.push_back(rank);
    }
    return others;
  }

  /// A cycle of ranks, each waiting for the next; it starts with its lowest rank. Empty if there is none.
  std::vector<Wait> cycle() const {
    std::vector<char> seen(ranks_.size(), 0);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      std::vector<Wait> path;
      if (seen[rank] != 0 || !extend_cycle(static_cast<int>(rank), seen, path)) continue;
      std::rotate(path.begin(), std::ranges::min_element(path, {}, &Wait::rank), path.end());
      return path;
    }
    return {};
  }

  /// Waited for on both sides, and different only in tag or communicator.
  std::optional<NearMiss> near_miss() const {
    std::vector<Wait> all;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      std::ranges::copy(unmet(static_cast<int>(rank)), std::back_inserter(all));
    for (const Wait& send : all) {
      for (const Wait& receive : all) {
        if (name_each_other(send.rank, *send.operation, receive.rank, *receive.operation))
          return NearMiss{send, receive};
      }
    }
    return std::nullopt;
  }

  /// A send to a rank that waits for another one's message.
  std::optional<NearMiss> misdirected() const {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const Wait& send : unmet(static_cast<int>(rank))) {
        const std::vector<int> to = peers(send);
        if (send.operation->kind != Operation::Kind::Send || to.size() != 1) continue;
        for (const Wait& receive : unmet(to.front())) {
          if (receive.operation->kind == Operation::Kind::Receive && receive.operation->peer >= 0 &&
              receive.operation->peer != send.rank)
            return NearMiss{send, receive};
        }
      }
    }
    return std::nullopt;
  }

  /// Whether the rank has begun to receive, waits for that or not.
  bool receives(int rank) const {
    return std::ranges::count(ranks_[rank].pending, Operation::Kind::Receive, &Operation::kind) > 0;
  }

  /// How many ranks ahead the peers of all sends and receives of these ranks are that nothing meets, where
  /// that is one number and there are both; else 0.
  int one_peer_ahead(const std::vector<Wait>& cycle) const {
    const int size = static_cast<int>(ranks_.size());
    std::optional<int> ahead;
    bool sends = false, receives = false;
    for (const Wait& wait : cycle) {
      for (const Operation& operation : ranks_[wait.rank].pending) {
        if (operation.kind == Operation::Kind::Collective || is_met(wait.rank, operation)) continue;
        if (operation.peer < 0 || operation.peer >= size) return 0;
        const int own = (operation.peer - wait.rank + size) % size;
        if (ahead.value_or(own) != own) return 0;
        ahead = own;
        (operation.kind == Operation::Kind::Send ? sends : receives) = true;
      }
    }
    return sends && receives ? *ahead : 0;
  }

  /// No pending operation of any rank can ever complete.
  bool is_final() const {
    const int size = static_cast<int>(ranks_.size());
    if (size > max_summed_ranks) return false;
    for (int rank = 0; rank < size; ++rank) {
      if (ranks_[rank].phase == Phase::Polling || !ranks_[rank].pending_complete) return false;
      for (const Operation& operation : ranks_[rank].pending) {
        if (is_met(rank, operation)) return false;
      }
      for (int other = rank; other < size; ++other) {
        if (!sums_agree(rank, other)) return false;
      }
    }
    return collectives_are_final();
  }

  /// The ranks of this cycle will never go on, whatever the others do.
  bool is_final(const std::vector<Wait>& cycle) const {
    if (ranks_.size() > max_summed_ranks) return false;
    return !cycle.empty() && std::all_of(cycle.begin(), cycle.end(), [&](const Wait& wait) {
      const RankSnapshot& own = ranks_[wait.rank];
      return own.phase == Phase::Blocked && own.pending_complete &&
             wait.operation->need == Operation::Need::All && wait.operation->peer >= 0 &&
             sums_agree(wait.rank, wait.operation->peer);
    });
  }

 private:
  bool is_met(int rank, const Operation& operation) const {
    if (operation.communicator == unknown_communicator) return true;
    for (std::size_t other = 0; other < ranks_.size(); ++other) {
      for (const Operation& candidate : ranks_[other].pending) {
        if (could_meet(rank, operation, static_cast<int>(other), candidate)) return true;
      }
    }
    return false;
  }

  /// Depth first: `path` leads to `rank`. On success the path is the cycle, from any of its ranks.
  bool extend_cycle(int rank, std::vector<char>& seen, std::vector<Wait>& path) const {
    seen[rank] = 1;
    for (const Wait& wait : unmet(rank)) {
      path.push_back(wait);
      for (const int peer : peers(wait)) {
        const auto entry = std::ranges::find(path, peer, &Wait::rank);
        if (entry != path.end()) {
          path.erase(path.begin(), entry);
          return true;
        }
        if (seen[peer] == 0 && extend_cycle(peer, seen, path)) return true;
      }
      path.pop_back();
    }
    return false;
  }

  /// Both know of every message between them that has been completed, so neither is about to find out.
  bool sums_agree(int a, int b) const {
    return ranks_[a].sent_sum[b] == ranks_[b].received_sum[a] &&
           ranks_[b].sent_sum[a] == ranks_[a].received_sum[b];
  }

  /// Where ranks wait in a collective of the case's communicator, it is one that nobody leaves before all
  /// have entered, nobody has left it already, and a rank is in none. Other communicators are not judged: the
  /// pages do not say who belongs to them.
  bool collectives_are_final() const {
    std::size_t inside = 0;
    for (const RankSnapshot& rank : ranks_) {
      for (const Operation& operation : rank.pending) {
        if (operation.kind != Operation::Kind::Collective) continue;
        const bool next = static_cast<std::uint64_t>(operation.tag) == rank.collectives + 1;
        if (operation.communicator != case_communicator || !next || !holds_all(operation)) return false;
        ++inside;
      }
    }
    const auto agrees = [&](const RankSnapshot& rank) { return rank.collectives == ranks_[0].collectives; };
    return inside == 0 || (inside < ranks_.size() && std::ranges::all_of(ranks_, agrees));
  }

  const std::vector<RankSnapshot>& ranks_;
};

/// "0", "0 and 2", "0 to 7 and 9"
std::string rank_list(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::string> runs;
  for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    for (end = begin + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    if (end - begin > 2) {
      runs.push_back(fmt::format("{} to {}", ranks[begin], ranks[end - 1]));
    } else {
      for (std::size_t i = begin; i < end; ++i) runs.push_back(std::to_string(ranks[i]));
    }
  }
  if (runs.size() < 2) return fmt::format("{}", fmt::join(runs, ""));
  return fmt::format("{} and {}", fmt::join(runs.begin(), runs.end() - 1, ", "), runs.back());
}

std::string ranks_words(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + rank_list(ranks);
}

/// How a peer is written: as its number, or seen from a rank r, where ranks that do the same share a line.
std::string peer_words(const Operation& operation, int rank, int size, bool relative) {
  if (operation.peer == any_peer) return "any rank";
  if (operation.peer < 0 || operation.peer >= size) return "a rank outside the case";
  if (!relative) return fmt::format("rank {}", operation.peer);
  const int ahead = (operation.peer - rank + size) % size;
  if (ahead == 0) return "itself";
  if (2 * ahead > size) return fmt::format("rank (r - {}) mod {}", size - ahead, size);
  return fmt::format("rank (r + {}) mod {}", ahead, size);
}

std::string root_words(const Operation& collective, int size) {
  const bool inside = collective.peer >= 0 && collective.peer < size;
  return inside ? fmt::format(" with root {}", collective.peer) : " with a root outside the case";
}

std::string in_brackets(const Operation& operation, int receives) {
  std::string words;
  if (operation.kind == Operation::Kind::Collective) {
    words = fmt::format("collective call {}, ", operation.tag);
  } else if (operation.tag != no_tag) {
    words = operation.tag == any_tag ? "any tag, " : fmt::format("tag {}, ", operation.tag);
  }
  words += fmt::format("{} {}, {}", operation.bytes, operation.bytes == 1 ? "byte" : "bytes",
                       after_receives(receives));
  const bool other = operation.communicator != case_communicator &&
                     operation.communicator != unknown_communicator && operation.tag != no_tag;
  return words + (other ? ", another communicator than the one given" : "");
}

std::string operation_words(const Operation& operation, int rank, int size, int receives, bool relative) {
  const std::string details = in_brackets(operation, receives);
  if (operation.communicator == unknown_communicator)
    return fmt::format("{} ({})", operation.call, after_receives(receives));
  if (operation.kind != Operation::Kind::Collective) {
    const char* way = operation.kind == Operation::Kind::Send ? "to" : "from";
    return fmt::format("{} {} {} ({})", operation.call, way, peer_words(operation, rank, size, relative),
                       details);
  }
  if (operation.peer == any_peer) return fmt::format("{} ({})", operation.call, details);
  return fmt::format("{}{} ({})", operation.call, root_words(operation, size), details);
}

const char* departure(Phase phase) {
  if (phase == Phase::Threw) return "thrown an exception";
  return phase == Phase::Crashed ? "crashed" : "finished";
}

/// The same call on the same communicator, as often called there, with the same root.
bool is_same_collective(const Operation& a, const Operation& b) {
  return std::strcmp(a.call, b.call) == 0 && a.communicator == b.communicator && a.tag == b.tag &&
         a.peer == b.peer;
}

/// Texts, each with the ranks of which it is true, in the order of their first ranks.
using Groups = std::vector<std::pair<std::string, std::vector<int>>>;

std::vector<int>& group_of(const std::string& text, Groups& groups) {
  const auto found = std::ranges::find(groups, text, &Groups::value_type::first);
  return found != groups.end() ? found->second : groups.emplace_back(text, std::vector<int>()).second;
}

/// Finds the reason, in the order of how much each explains: operations that miss each other and cycles hold
/// up everybody behind them, a rank that is gone those who wait for it.
class Explanation {
 public:
  explicit Explanation(const std::vector<RankSnapshot>& ranks)
      : ranks_(ranks), size_(static_cast<int>(ranks.size())), graph_(ranks) {
    for (int rank = 0; rank < size_; ++rank) {
      if (waits(ranks[rank])) waiting_.push_back(rank);
      if (is_gone(ranks[rank])) gone_.push_back(rank);
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
    if (const std::optional<NearMiss> miss = graph_.near_miss())
      return told(Kind::NoMatch, waiting_, never_meet(*miss));
    if (std::optional<Deadlock> found = cycle()) return *found;
    if (std::optional<Deadlock> found = waits_for_gone()) return *found;
    if (std::optional<Deadlock> found = collectives()) return *found;
    return told(Kind::NoMatch, waiting_, nothing_completes());
  }

  /// @param conclusion the last line, which says what is wrong
  Deadlock told(Kind kind, const std::vector<int>& ranks, const std::string& conclusion) const {
    Deadlock still{.kind = kind, .ranks = ranks, .receives = {}, .text = describe(ranks) + conclusion};
    const auto is_empty_send = [](const PendingOperation& operation) {
      return operation.kind == Operation::Kind::Send && operation.need != Operation::Need::None &&
             operation.bytes == 0;
    };
    for (const int rank : ranks) {
      still.receives.push_back(ranks_[rank].receives);
      if (std::ranges::any_of(ranks_[rank].pending, is_empty_send)) still.empty_senders.push_back(rank);
    }
    return still;
  }

  /// One line for each rank, `first` before the others; with 8 ranks or more, one for all that do the same.
  std::string describe(const std::vector<int>& first) const {
    std::vector<int> order = first;
    for (int rank = 0; rank < size_; ++rank) {
      if (std::ranges::count(first, rank) == 0) order.push_back(rank);
    }
    Groups lines;
    for (const int rank : order) {
      const std::string shared = doing(rank, true);
      if (ranks_.size() < compact_from_ranks) {
        lines.push_back({shared, {rank}});
      } else {
        group_of(shared, lines).push_back(rank);
      }
    }
    std::string text;
    for (const auto& [shared, members] : lines) {
      const std::string words = members.size() > 1 ? shared : doing(members[0], false);
      text += fmt::format("{} {}\n", ranks_words(members), words);
    }
    return text;
  }

  /// What a rank does, after "rank 3 " or, relative and for several, after "ranks 2 and 3 ".
  std::string doing(int rank, bool several) const {
    const RankSnapshot& own = ranks_[rank];
    if (is_gone(own)) return fmt::format("{} {}", several ? "have" : "has", departure(own.phase));
    std::string words = own.phase == Phase::Polling ? (several ? "each poll with " : "polls with ")
                                                    : (several ? "each wait in " : "waits in ");
    const std::vector<Operation> all = reasons(rank);
    for (std::size_t i = 0; i < std::min(all.size(), operations_in_a_line); ++i) {
      if (i > 0) words += " and ";
      words += operation_words(all[i], rank, size_, own.receives, several);
    }
    if (all.empty()) words += "a call that it does not name";
    if (all.size() > operations_in_a_line)
      words += fmt::format(" and {} more", all.size() - operations_in_a_line);
    return words;
  }

  /// What the rank waits for and does not get; all that it waits for when nothing is missing.
  std::vector<Operation> reasons(int rank) const {
    std::vector<Operation> found;
    for (const Wait& wait : graph_.unmet(rank)) found.push_back(*wait.operation);
    for (const Operation& operation : ranks_[rank].pending) {
      const bool counts = found.empty() || operation.kind == Operation::Kind::Collective;
      if (counts && operation.need != Operation::Need::None) found.push_back(operation);
    }
    return found;
  }

  static std::string never_meet(const NearMiss& miss) {
    const Operation& send = *miss.send.operation;
    const Operation& receive = *miss.receive.operation;
    if (send.communicator != receive.communicator) {
      return fmt::format(
          "rank {} sends on another communicator than the one on which rank {} receives: they never meet",
          miss.send.rank, miss.receive.rank);
    }
    return fmt::format("rank {} sends tag {}, rank {} receives tag {}: they never meet", miss.send.rank,
                       send.tag, miss.receive.rank, receive.tag);
  }

  /// "every rank receives from the rank that it sends to: rank 0 waits for a message from rank 1, which sends
  /// to rank 2"
  std::string receives_where_it_sends(const std::vector<int>& cycle, int ahead) const {
    const int receiver = *std::ranges::find_if(cycle, [&](int rank) { return graph_.receives(rank); });
    const int peer = (receiver + ahead) % size_;
    return fmt::format(
        "every rank receives from the rank that it sends to: rank {} waits for a message from rank {}, which "
        "sends to rank {}",
        receiver, peer, (peer + ahead) % size_);
  }

  /// Every rank that waits does so for whichever comes: one cycle is as good as another.
  bool all_wait_for_any_other() const {
    return std::ranges::all_of(waiting_, [&](int rank) {
      const std::vector<Wait> unmet = graph_.unmet(rank);
      const auto is_for_any = [](const Wait& wait) { return wait.operation->peer == any_peer; };
      return !unmet.empty() && std::ranges::all_of(unmet, is_for_any);
    });
  }

  std::optional<Deadlock> cycle() const {
    const std::vector<Wait> path = graph_.cycle();
    if (path.empty()) return std::nullopt;
    std::vector<int> ranks;
    for (const Wait& wait : path) ranks.push_back(wait.rank);
    const auto all_are = [&](Operation::Kind kind) {
      return std::ranges::all_of(path, [&](const Wait& wait) { return wait.operation->kind == kind; });
    };
    const bool all_send = all_are(Operation::Kind::Send) &&
                          std::ranges::none_of(ranks, [&](int rank) { return graph_.receives(rank); });
    const int ahead = graph_.one_peer_ahead(path);
    const std::string why = all_send    ? "; every rank of it sends and none receives"
                            : ahead > 0 ? "; " + receives_where_it_sends(ranks, ahead)
                                        : "";
    const std::string in_order = fmt::format("a cycle: {} → {}{}", fmt::join(ranks, " → "), ranks[0], why);
    const std::string conclusion =
        ranks.size() == 1          ? fmt::format("rank {} waits for itself", ranks[0])
        : all_wait_for_any_other() ? "each waits for any other rank to answer, and none is left that could"
                                   : in_order;
    Deadlock still = told(Kind::Cycle, ranks, conclusion);
    still.all_send = all_send;
    still.one_peer_ahead = ahead;
    still.all_receive = all_are(Operation::Kind::Receive);
    still.proven = graph_.is_final(path);
    return still;
  }

  std::optional<Deadlock> waits_for_gone() const {
    for (const int rank : waiting_) {
      for (const Wait& wait : graph_.unmet(rank)) {
        const std::vector<int> peers = graph_.peers(wait);
        if (peers.empty() || !std::ranges::all_of(peers, [&](int peer) { return is_gone(ranks_[peer]); }))
          continue;
        const bool send = wait.operation->kind == Operation::Kind::Send;
        const std::string have =
            peers.size() == 1 ? fmt::format("has {}", departure(ranks_[peers[0]].phase)) : "are all done";
        return told(Kind::WaitsForFinished, waiting_,
                    fmt::format("rank {} waits for {}, which {} and will not {} any more", rank,
                                ranks_words(peers), have, send ? "receive" : "send"));
      }
    }
    return std::nullopt;
  }

  std::optional<Deadlock> collectives() const {
    const auto inside = [&](int rank) { return graph_.collective(rank) != nullptr; };
    if (std::ranges::none_of(waiting_, inside)) return std::nullopt;
    const Operation* first = graph_.collective(waiting_[0]);
    const auto same = [&](int rank) {
      return inside(rank) && is_same_collective(*graph_.collective(rank), *first);
    };
    if (first == nullptr || !std::ranges::all_of(waiting_, same))
      return told(Kind::CollectiveMismatch, waiting_, crossing_messages() + different_collectives());
    if (gone_.empty()) return std::nullopt;
    return told(
        Kind::WaitsForFinished, waiting_,
        fmt::format("{} {} {} and will not call {}", ranks_words(gone_), gone_.size() > 1 ? "have" : "has",
                    departure(ranks_[gone_[0]].phase), first->call));
  }

  /// What is wrong before any collective; a line, or empty.
  std::string crossing_messages() const {
    const std::optional<NearMiss> miss = graph_.misdirected();
    if (!miss) return "";
    return fmt::format("rank {} sends to rank {}, which receives from rank {}: they never meet\n",
                       miss->send.rank, miss->receive.rank, miss->receive.operation->peer);
  }

  std::string different_collectives() const {
    Groups groups;
    for (const int rank : waiting_) {
      const Operation* collective = graph_.collective(rank);
      std::string where = "in no collective";
      if (collective != nullptr) where = fmt::format("in {}", collective->call);
      if (collective != nullptr && collective->peer != any_peer) where += root_words(*collective, size_);
      group_of(where, groups).push_back(rank);
    }
    std::vector<std::string> texts;
    for (const auto& [where, members] : groups)
      texts.push_back(
          fmt::format("{} {} {}", ranks_words(members), members.size() > 1 ? "are" : "is", where));
    return fmt::format(
        "{}: a collective ends only when every rank of its communicator makes the same calls in "
        "the same order",
        fmt::join(texts, ", "));
  }

  std::string nothing_completes() const {
    for (const int rank : waiting_) {
      const Operation* const collective = graph_.collective(rank);
      bool outside = collective != nullptr && collective->peer == outside_peer;
      for (const Wait& wait : graph_.unmet(rank)) outside |= graph_.peers(wait).empty();
      if (outside) return fmt::format("rank {} waits for a rank that has no part in the case", rank);
    }
    return gone_.empty() ? "what the ranks wait for fits together, yet nothing completes"
                         : "some operations fit together, yet none completes";
  }

  const std::vector<RankSnapshot>& ranks_;
  int size_;
  WaitForGraph graph_;
  std::vector<int> waiting_;
  std::vector<int> gone_;
};

}  // namespace

bool waits(const RankSnapshot& rank) {
  return rank.phase == Phase::Blocked || rank.phase == Phase::Polling;
}

std::optional<Deadlock> find_deadlock(const std::vector<RankSnapshot>& ranks) {
  const auto is_still = [&](const RankSnapshot& rank) {
    return (waits(rank) || is_gone(rank)) && rank.case_index == ranks[0].case_index;
  };
  if (!std::ranges::all_of(ranks, is_still) || std::ranges::none_of(ranks, waits)) return std::nullopt;
  return Explanation(ranks).find();
}

}  // namespace course
