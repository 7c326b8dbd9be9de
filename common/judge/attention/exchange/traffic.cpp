#include "judge/attention/exchange/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace course::exchange {

namespace {

constexpr std::int64_t bytes_of_number = sizeof(float);

std::vector<int> row_of(const Example& example, int rank) {
  return example.topology.row_of(rank, example.ranks());
}

bool share_a_row(const Example& example, int rank, int other) {
  return std::ranges::count(row_of(example, rank), other) > 0;
}

/// In a rank's row the longest part of all.
std::int64_t padded_bytes(const Example& example, const std::vector<Exchange>& all, int rank) {
  Index tokens = 0, numbers = 0;
  for (const int other : row_of(example, rank))
    tokens = std::max<Index>(tokens, example.layout.tokens(other));
  for (const Exchange& exchange : all) {
    const Ranges ranges = ranges_of(example, exchange.ranges);
    Index heads = 0;
    for (const int other : row_of(example, rank)) heads = std::max(heads, ranges.count(other));
    numbers += tokens * heads * exchange.width;
  }
  return numbers * bytes_of_number;
}

}  // namespace

std::vector<Exchange> forward_exchanges(Index head_dim) {
  return {{by_heads, head_dim},
          {by_key_heads, head_dim},
          {by_key_heads, head_dim},
          {by_heads, head_dim, true},
          {by_heads, 1, true}};
}

std::int64_t bytes(const Example& example, const std::vector<Exchange>& all, int from, int to) {
  if (!share_a_row(example, from, to)) return 0;
  Index numbers = 0;
  for (const Exchange& exchange : all) {
    const Ranges heads = ranges_of(example, exchange.ranges);
    const int has_tokens = exchange.back ? to : from, has_heads = exchange.back ? from : to;
    numbers += example.layout.tokens(has_tokens) * heads.count(has_heads) * exchange.width;
  }
  return numbers * bytes_of_number;
}

std::int64_t bytes_held(const Example& example, const std::vector<Exchange>& all, int rank) {
  Index tokens = 0, numbers = 0;
  for (const int other : row_of(example, rank)) tokens += example.layout.tokens(other);
  for (const Exchange& exchange : all)
    numbers += tokens * ranges_of(example, exchange.ranges).count(rank) * exchange.width;
  return numbers * bytes_of_number;
}

checks::NeededBytes padded_parts(ExchangesOf exchanges) {
  return [exchanges](const Example& example, int from, int to) {
    return share_a_row(example, from, to) ? padded_bytes(example, exchanges(example), from) : 0;
  };
}

std::vector<CommunicationCheck> exchange_checks(checks::NeededBytes needed, checks::Recognises copied) {
  using namespace checks;
  const CommunicationCheck sends = named_if(sends_only_what_is_needed(std::move(needed), ""),
                                            std::move(copied), "keys_copied_to_all_heads");
  return {first_of({without_fact(fact_world, ""), named_if(sends, checks::gathered, "everything_gathered")}),
          uses_only_known_calls(),
          stays_in_its_memory(),
          completes_its_requests(""),
          frees_what_it_makes(""),
          tells_null_peers};
}

bool left_without_heads(const Example& example, const Deadlock& deadlock) {
  const Ranges heads = ranges_of(example, by_heads);
  return deadlock.kind == Deadlock::Kind::WaitsForFinished && !deadlock.left_at_once.empty() &&
         std::ranges::all_of(deadlock.left_at_once, [&](int rank) { return heads.count(rank) == 0; });
}

std::vector<Finding> exchanges_by_alltoall_or_messages(const Example&, const Outcome& outcome) {
  for (std::size_t rank = 0; rank < outcome.facts.size(); ++rank) {
    for (const Fact& fact : outcome.facts[rank]) {
      const bool exchanges = fact.call.find("lltoall") != std::string::npos;
      if (fact.kind != fact_collective || exchanges || fact.bytes == 0) continue;
      return {checks::finding_of(fact, "",
                                 fmt::format("{}: {}; gradients go home in exchanges alone",
                                             rank_label(rank, outcome.facts.size()), fact.text))};
    }
  }
  return {};
}

}  // namespace course::exchange
