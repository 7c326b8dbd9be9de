#include "judge/checks/traffic_checks.hpp"

#include <fmt/format.h>

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

Recognises sent_whole_multiple(NeededBytes needed) {
  return [needed = std::move(needed)](const Example& example, const Outcome& outcome) {
    return whole_multiple_sent(needed, example, outcome) > 1;
  };
}

}  // namespace course::checks
