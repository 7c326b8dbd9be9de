#include "judge/checks/traffic_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace course::checks {

namespace {

/// Bytes that `from` sent to `to` and those that are needed, of each pair of different ranks.
struct OfPair {
  int from;
  int to;
  std::int64_t sent;
  std::int64_t needed;
};

std::vector<OfPair> pairs(const NeededBytes& needed, const Example& example, const Outcome& outcome) {
  std::vector<OfPair> all;
  const int ranks = static_cast<int>(outcome.reports.size());
  for (int from = 0; from < ranks; ++from) {
    const std::map<int, std::int64_t> sent = bytes_by_peer(outcome.reports[from].traffic);
    for (int to = 0; to < ranks; ++to) {
      const auto found = sent.find(to);
      if (to != from)
        all.push_back({from, to, found == sent.end() ? 0 : found->second, needed(example, from, to)});
    }
  }
  return all;
}

}  // namespace

std::int64_t whole_multiple_sent(const NeededBytes& needed, const Example& example, const Outcome& outcome) {
  const std::vector<OfPair> all = pairs(needed, example, outcome);
  std::set<int> senders;
  for (const OfPair& pair : all)
    if (pair.sent > 0) senders.insert(pair.from);
  std::int64_t multiple = 0;
  for (const OfPair& pair : all) {
    if (!senders.contains(pair.from) || (pair.sent == 0 && pair.needed == 0)) continue;
    if (pair.needed == 0 || pair.sent == 0 || pair.sent % pair.needed != 0) return 0;
    const std::int64_t own = pair.sent / pair.needed;
    if (multiple != 0 && own != multiple) return 0;
    multiple = own;
  }
  return multiple;
}

CommunicationCheck sends_only_what_is_needed(NeededBytes needed, std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    for (const OfPair& pair : pairs(needed, example, outcome)) {
      if (pair.sent <= pair.needed) continue;
      std::string text = fmt::format("rank {} sent {} bytes to rank {}, {} are needed", pair.from, pair.sent,
                                     pair.to, pair.needed);
      const std::int64_t multiple = whole_multiple_sent(needed, example, outcome);
      if (multiple > 1) text += fmt::format("; all senders sent {} times as many as are needed", multiple);
      return {{mistake, text}};
    }
    return {};
  };
}

namespace {

/// "MPI_Alltoallv and MPI_Isend": the calls by which `from` sent to `to`.
std::string calls_between(const Outcome& outcome, int from, int to) {
  std::set<std::string> calls;
  for (const Sent& sent : outcome.reports[from].traffic)
    if (sent.to == to && sent.bytes > 0 && !sent.call.empty()) calls.insert(sent.call);
  return calls.empty() ? "" : fmt::format(" in {}", fmt::join(calls, " and "));
}

/// A row a sender, a column a receiver: what was sent of what is needed.
std::string table_of(const std::vector<OfPair>& all, int ranks) {
  std::vector<std::vector<std::string>> cells(ranks, std::vector<std::string>(ranks, "."));
  for (const OfPair& pair : all) {
    if (pair.sent > 0 || pair.needed > 0)
      cells[pair.from][pair.to] =
          fmt::format("{}{}/{}", pair.sent > pair.needed ? "!" : "", pair.sent, pair.needed);
  }
  std::size_t width = 4;
  for (const auto& row : cells)
    for (const std::string& cell : row) width = std::max(width, cell.size());
  std::string text = "bytes sent/needed, a row a sender, a column a receiver, ! too many, . none:\n  ";
  for (int to = 0; to < ranks; ++to) text += fmt::format("  {:>{}}", to, width);
  for (int from = 0; from < ranks; ++from) {
    text += fmt::format("\n{:>2}", from);
    for (int to = 0; to < ranks; ++to) text += fmt::format("  {:>{}}", cells[from][to], width);
  }
  return text;
}

}  // namespace

CommunicationCheck sends_by_the_map(NeededBytes needed,
                                    std::function<std::string(const Example&, int from)> who_talks,
                                    std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    const std::vector<OfPair> all = pairs(needed, example, outcome);
    auto over =
        std::ranges::find_if(all, [](const OfPair& pair) { return pair.sent > 0 && pair.needed == 0; });
    if (over == all.end())
      over = std::ranges::find_if(all, [](const OfPair& pair) { return pair.sent > pair.needed; });
    if (over == all.end()) return {};
    return {
        {mistake, fmt::format("rank {} sent {} bytes{} to rank {}, {} are needed; {}\n{}", over->from,
                              over->sent, calls_between(outcome, over->from, over->to), over->to,
                              over->needed, who_talks(example, over->from), table_of(all, example.ranks()))}};
  };
}

CommunicationCheck sends_in_all_at_most(Limit limit, std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    for (int rank = 0; rank < static_cast<int>(outcome.reports.size()); ++rank) {
      std::int64_t sent = 0;
      for (const auto& [to, bytes] : bytes_by_peer(outcome.reports[rank].traffic))
        if (to != rank) sent += bytes;
      const std::int64_t allowed = limit(example, rank);
      if (sent > allowed)
        return {{mistake,
                 fmt::format("rank {} sent {} bytes to others, at most {} are needed", rank, sent, allowed)}};
    }
    return {};
  };
}

Recognises sent_whole_multiple(NeededBytes needed) {
  return [needed = std::move(needed)](const Example& example, const Outcome& outcome) {
    return whole_multiple_sent(needed, example, outcome) > 1;
  };
}

}  // namespace course::checks
