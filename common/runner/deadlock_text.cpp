#include "runner/deadlock_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

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

std::string in_brackets(const Operation& operation, int receives) {
  std::string words;
  if (operation.kind == Operation::Kind::Collective) {
    words = fmt::format("collective call {}", operation.tag);
  } else {
    words = operation.tag == any_tag ? "any tag" : fmt::format("tag {}", operation.tag);
  }
  words += fmt::format(", {} {}, {}", operation.bytes, operation.bytes == 1 ? "byte" : "bytes",
                       after_receives(receives));
  const bool other =
      operation.communicator != case_communicator && operation.communicator != unknown_communicator;
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
  return fmt::format("{} with root {} ({})", operation.call, operation.peer, details);
}

/// What the rank waits for and does not get; all that it waits for when nothing is missing.
std::vector<Operation> reasons(const RankSnapshot& snapshot, const WaitForGraph& graph, int rank) {
  std::vector<Operation> found;
  for (const Wait& wait : graph.unmet(rank)) found.push_back(*wait.operation);
  for (const Operation& operation : snapshot.pending) {
    if (found.empty() || operation.kind == Operation::Kind::Collective) {
      if (operation.need != Operation::Need::None) found.push_back(operation);
    }
  }
  return found;
}

const char* departure(Phase phase) {
  if (phase == Phase::Threw) return "thrown an exception";
  return phase == Phase::Crashed ? "crashed" : "finished";
}

/// What a rank does, after "rank 3 " or, relative and for several, after "ranks 2 and 3 ".
std::string doing(const std::vector<RankSnapshot>& ranks, const WaitForGraph& graph, int rank, bool several) {
  const RankSnapshot& own = ranks[rank];
  if (is_gone(own)) return fmt::format("{} {}", several ? "have" : "has", departure(own.phase));
  std::string words = own.phase == Phase::Polling ? (several ? "each poll with " : "polls with ")
                                                  : (several ? "each wait in " : "waits in ");
  const std::vector<Operation> all = reasons(own, graph, rank);
  for (std::size_t i = 0; i < std::min(all.size(), operations_in_a_line); ++i) {
    if (i > 0) words += " and ";
    words += operation_words(all[i], rank, static_cast<int>(ranks.size()), own.receives, several);
  }
  if (all.empty()) words += "a call that it does not name";
  if (all.size() > operations_in_a_line)
    words += fmt::format(" and {} more", all.size() - operations_in_a_line);
  return words;
}

}  // namespace

bool is_same_collective(const Operation& a, const Operation& b) {
  return std::strcmp(a.call, b.call) == 0 && a.communicator == b.communicator && a.tag == b.tag &&
         a.peer == b.peer;
}

std::string describe_ranks(const std::vector<RankSnapshot>& ranks, const WaitForGraph& graph,
                           const std::vector<int>& first) {
  std::vector<int> order = first;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    if (std::find(first.begin(), first.end(), rank) == first.end()) order.push_back(rank);
  }
  // Lines in the order of their first rank; ranks that do the same share one where there are many.
  std::vector<std::pair<std::string, std::vector<int>>> lines;
  for (const int rank : order) {
    const std::string shared = doing(ranks, graph, rank, true);
    auto line =
        std::find_if(lines.begin(), lines.end(), [&](const auto& one) { return one.first == shared; });
    if (line == lines.end() || ranks.size() < compact_from_ranks)
      line = lines.insert(lines.end(), {shared, {}});
    line->second.push_back(rank);
  }
  std::string text;
  for (const auto& [shared, members] : lines) {
    const std::string words = members.size() > 1 ? shared : doing(ranks, graph, members[0], false);
    text += fmt::format("{} {}\n", ranks_words(members), words);
  }
  return text;
}

std::string conclude_cycle(const std::vector<int>& in_order, bool all_send) {
  if (in_order.size() == 1) return fmt::format("rank {} waits for itself", in_order[0]);
  return fmt::format("a cycle: {} → {}{}", fmt::join(in_order, " → "), in_order[0],
                     all_send ? "; every rank of it sends and none receives" : "");
}

std::string conclude_near_miss(const NearMiss& miss) {
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

std::string conclude_finished(const std::vector<RankSnapshot>& ranks, const Wait& wait,
                              const std::vector<int>& peers) {
  const bool send = wait.operation->kind == Operation::Kind::Send;
  const std::string have =
      peers.size() == 1 ? fmt::format("has {}", departure(ranks[peers[0]].phase)) : "are all done";
  return fmt::format("rank {} waits for {}, which {} and will not {} any more", wait.rank, ranks_words(peers),
                     have, send ? "receive" : "send");
}

std::string conclude_collectives(const WaitForGraph& graph, const std::vector<int>& waiting) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const int rank : waiting) {
    const Operation* collective = graph.collective(rank);
    std::string where = "in no collective";
    if (collective != nullptr) {
      where = fmt::format("in {}", collective->call);
      if (collective->peer != any_peer) where += fmt::format(" with root {}", collective->peer);
    }
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == where; });
    if (group == groups.end()) group = groups.insert(groups.end(), {where, {}});
    group->second.push_back(rank);
  }
  std::string text;
  for (const auto& [where, members] : groups) {
    text += fmt::format("{} {} {}, ", ranks_words(members), members.size() > 1 ? "are" : "is", where);
  }
  text.replace(text.size() - 2, 2, ": ");
  return text +
         "a collective ends only when every rank of its communicator makes the same calls in the same order";
}

std::string conclude_collective_without(const std::vector<RankSnapshot>& ranks, const Operation& collective) {
  std::vector<int> absent;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    if (is_gone(ranks[rank])) absent.push_back(rank);
  }
  const std::string has = absent.size() > 1 ? "have" : "has";
  return fmt::format("{} {} {} and will not call {}", ranks_words(absent), has,
                     departure(ranks[absent[0]].phase), collective.call);
}

std::string conclude_no_match(const std::vector<RankSnapshot>& ranks, const WaitForGraph& graph,
                              const std::vector<int>& waiting) {
  for (const int rank : waiting) {
    for (const Wait& wait : graph.unmet(rank)) {
      if (!graph.peers(wait).empty()) continue;
      return fmt::format("rank {} waits for a rank that has no part in the case", rank);
    }
  }
  if (std::any_of(ranks.begin(), ranks.end(), is_gone))
    return "some operations fit together, yet none completes";
  return "what the ranks wait for fits together, yet nothing completes";
}

}  // namespace course
