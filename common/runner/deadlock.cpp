#include "runner/deadlock.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "text/text_file.hpp"

namespace course {

namespace {

using Operation = PendingOperation;

constexpr std::size_t compact_from_ranks = 8;
constexpr std::size_t operations_in_a_line = 4;

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
  return listed(runs);
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

/// "1st", "12th", "23rd"
std::string ordinal(int number) {
  const int last = number / 10 % 10 == 1 ? 0 : number % 10;
  return fmt::format("{}{}", number, last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

/// "the communicator of ranks 2, 0": its members in its own order.
std::string communicator_words(const SeenCommunicator& on, int size) {
  std::vector<int> all(size);
  std::iota(all.begin(), all.end(), 0);
  if (on.members == all)
    return on.id == case_communicator ? "the communicator given" : "another communicator of all ranks";
  std::vector<std::string> members;
  for (const int member : on.members)
    members.push_back(member < 0 ? "one outside the case" : std::to_string(member));
  return fmt::format("the communicator of {} {}", members.size() == 1 ? "rank" : "ranks",
                     fmt::join(members, ", "));
}

/// @param on what is known of its communicator, where that is another than the case's; else null
std::string in_brackets(const Operation& operation, const SeenCommunicator* on, int size, int receives) {
  std::string words;
  const bool is_collective = operation.kind == Operation::Kind::Collective;
  if (is_collective && on != nullptr) {
    words = fmt::format("{} on {}; ", ordinal(operation.tag), communicator_words(*on, size));
  } else if (is_collective) {
    words = fmt::format("collective call {}, ", operation.tag);
  } else if (operation.tag != no_tag) {
    words = operation.tag == any_tag ? "any tag, " : fmt::format("tag {}, ", operation.tag);
  }
  words += fmt::format("{} {}, {}", operation.bytes, operation.bytes == 1 ? "byte" : "bytes",
                       after_receives(receives));
  if (on != nullptr) return is_collective ? words : words + ", on " + communicator_words(*on, size);
  const bool other = operation.communicator != case_communicator &&
                     operation.communicator != unknown_communicator && operation.tag != no_tag;
  return words + (other ? ", another communicator than the one given" : "");
}

std::string operation_words(const Operation& operation, const SeenCommunicator* on, int rank, int size,
                            int receives, bool relative) {
  const std::string details = in_brackets(operation, on, size, receives);
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
    if (std::optional<Deadlock> found = collectives_apart()) return *found;
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
    std::ranges::copy_if(gone_, std::back_inserter(still.left_at_once),
                         [&](int rank) { return ranks_[rank].receives == 0; });
    for (const int rank : waiting_) {
      for (const Operation& operation : reasons(rank)) still.calls.emplace_back(operation.call);
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
      words += operation_words(all[i], other_communicator(rank, all[i]), rank, size_, own.receives, several);
    }
    if (all.empty()) words += "a call that it does not name";
    if (all.size() > operations_in_a_line)
      words += fmt::format(" and {} more", all.size() - operations_in_a_line);
    return words;
  }

  /// What is known of the operation's communicator, where that is another than the case's; else null.
  const SeenCommunicator* other_communicator(int rank, const Operation& operation) const {
    const bool own = operation.communicator == case_communicator;
    return own ? nullptr : graph_.communicator({rank, &operation});
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
  /// to rank 2"; where one rank alone receives in the cycle, it may be the only one that does so.
  std::string receives_where_it_sends(const std::vector<int>& cycle, int ahead) const {
    const auto receives = [&](int rank) { return graph_.receives(rank); };
    const int receiver = *std::ranges::find_if(cycle, receives);
    const int peer = (receiver + ahead) % size_;
    const bool several = std::ranges::count_if(cycle, receives) > 1;
    return fmt::format(
        "{} receives from the rank that it sends to: rank {} waits for a message from rank {}, which "
        "sends to rank {}",
        several ? "every rank" : fmt::format("rank {}", receiver), receiver, peer, (peer + ahead) % size_);
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

  /// "MPI_Alltoallv (1st on the communicator of ranks 0, 2, 4)", of a communicator that the page tells.
  std::string collective_words(const Wait& collective) const {
    const Operation& operation = *collective.operation;
    const std::string root = operation.peer == any_peer ? "" : root_words(operation, size_);
    return fmt::format("{}{} ({} on {})", operation.call, root, ordinal(operation.tag),
                       communicator_words(*graph_.communicator(collective), size_));
  }

  /// What a rank does that is missing in a collective, behind "rank 3 ".
  std::string instead(int rank, bool several) const {
    const Phase phase = ranks_[rank].phase;
    if (is_gone(ranks_[rank]))
      return fmt::format("{} {}", several ? "have" : "has",
                         phase == Phase::Finished ? "returned" : departure(phase));
    const Operation* const collective = graph_.collective(rank);
    const std::string in = several ? "wait in " : "waits in ";
    if (collective != nullptr && graph_.communicator({rank, collective}) != nullptr)
      return in + collective_words({rank, collective});
    const std::vector<Operation> all = reasons(rank);
    if (all.empty()) return several ? "wait" : "waits";
    if (all[0].kind == Operation::Kind::Collective) return in + all[0].call;
    return fmt::format("{}{} {} {}", in, all[0].call, all[0].kind == Operation::Kind::Send ? "to" : "from",
                       peer_words(all[0], rank, size_, false));
  }

  /// "rank 4 has returned, ranks 5 and 6 wait in MPI_Barrier (1st on the communicator given)"
  std::string each_instead(const std::vector<int>& ranks) const {
    Groups groups;
    for (const int rank : ranks) group_of(instead(rank, false), groups).push_back(rank);
    std::vector<std::string> clauses;
    for (const auto& [words, members] : groups)
      clauses.push_back(
          fmt::format("{} {}", ranks_words(members), members.size() > 1 ? instead(members[0], true) : words));
    return fmt::format("{}", fmt::join(clauses, ", "));
  }

  /// "ranks 0 and 2 wait in MPI_Barrier (1st on the communicator of ranks 0, 2, 4); rank 4 has returned", for
  /// each collective that lacks members, where one of them is on a communicator that the function made. Ranks
  /// in a collective that lacks a rank that is gone hold up the others.
  std::optional<Deadlock> collectives_apart() const {
    Groups of_gone, of_waiting;
    bool is_apart = false;
    for (const int rank : waiting_) {
      const Wait collective{rank, graph_.collective(rank)};
      if (collective.operation == nullptr) continue;
      const std::vector<int> absent = graph_.absent(collective);
      if (absent.empty()) continue;
      is_apart |= other_communicator(rank, *collective.operation) != nullptr;
      const bool lacks_gone =
          std::ranges::any_of(absent, [&](int member) { return is_gone(ranks_[member]); });
      const std::string words = fmt::format("{}; {}", collective_words(collective), each_instead(absent));
      group_of(words, lacks_gone ? of_gone : of_waiting).push_back(rank);
    }
    if (!is_apart) return std::nullopt;
    std::vector<std::string> lines;
    for (const auto& [words, members] : of_gone.empty() ? of_waiting : of_gone)
      lines.push_back(
          fmt::format("{} {} in {}", ranks_words(members), members.size() > 1 ? "wait" : "waits", words));
    return told(of_gone.empty() ? Kind::CollectiveMismatch : Kind::WaitsForFinished, waiting_,
                fmt::format("{}", fmt::join(lines, "\n")));
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

std::optional<Deadlock> find_deadlock(const std::vector<RankSnapshot>& ranks) {
  const auto is_still = [&](const RankSnapshot& rank) {
    return (waits(rank) || is_gone(rank)) && rank.case_index == ranks[0].case_index;
  };
  if (!std::ranges::all_of(ranks, is_still) || std::ranges::none_of(ranks, waits)) return std::nullopt;
  return Explanation(ranks).find();
}

}  // namespace course
