#include <fmt/format.h>

#include "bench/by_clock.hpp"
#include "bench/exchange_bytes.hpp"

namespace course::bench {

namespace {

constexpr int heads_of_queries = 32;
constexpr int node = 2;  ///< ranks of a group of the grid, and of an inner ring

/// first, last of each rank, as lesson 17 is told of heads.
std::vector<double> ranges_of(const ExchangeSize& size, Index HeadShare::*first, Index HeadShare::*last) {
  std::vector<double> ranges;
  for (const HeadShare& share : head_shares(size))
    ranges.insert(ranges.end(), {static_cast<double>(share.*first), static_cast<double>(share.*last)});
  return ranges;
}

/// A way to attention, and what a rank sends on it.
struct Way {
  const char* name;
  PlayedFunction function;
  std::int64_t bytes;
};

std::vector<Way> ways_of(const Contest& contest, const ExchangeSize& size) {
  const timed::Code &grouped = contest.lessons.at(Role::RingGrouped),
                    &exchange = contest.lessons.at(Role::HeadExchange),
                    &grids = contest.lessons.at(Role::Grids);
  std::vector<Way> ways{
      {"ring", {grouped.library, grouped.ring}, ring_bytes(size)},
      {"gather",
       {grids.library, "gather_attention", {{"kv_heads_at_once", {static_cast<double>(size.kv_heads)}}}},
       ring_bytes(size)},
      {"Ulysses",
       {exchange.library,
        "ulysses_attention",
        {{"heads_of", ranges_of(size, &HeadShare::first, &HeadShare::last)},
         {"kv_heads_of", ranges_of(size, &HeadShare::kv_first, &HeadShare::kv_last)}}},
       ulysses_bytes(size)}};
  if (size.ranks % node != 0 || size.ranks == node) return ways;
  ways.push_back({"grid", {grids.library, "usp_attention", {{"ulysses", {node}}}}, grid_bytes(size, node)});
  ways.push_back(
      {"double ring", {grids.library, "double_ring_attention", {{"node", {node}}}}, ring_bytes(size)});
  return ways;
}

}  // namespace

ExchangeReport hold_exchanges(const Contest& contest) {
  std::vector<Contender> contenders;
  std::vector<Row> rows;
  ExchangeReport report;
  for (const Index kv_heads : {Index{heads_of_queries}, Index{8}}) {
    const auto problem = std::make_shared<const Problem>(
        timed::Extents{heads_of_queries, contest.tokens, contest.ring_head_dim}, timed::PackedRow{},
        kv_heads);
    for (const int ranks : contest.ring_ranks) {
      require_even_shards(contest.tokens, ranks);
      const ExchangeSize size{ranks, contest.tokens / ranks, heads_of_queries, kv_heads,
                              contest.ring_head_dim};
      const std::string setting = fmt::format("{} ranks, {}/{} heads", ranks, heads_of_queries, kv_heads);
      report.preferred.push_back({setting, preferred_by_bytes(size)});
      std::string ring;
      for (Way& way : ways_of(contest, size)) {
        const std::string name = fmt::format("{}, {}", way.name, setting);
        contenders.push_back(by_clock(contest, name, problem, ranks, std::move(way.function)));
        rows.push_back({.name = name, .against = ring, .bytes_sent = way.bytes});
        if (ring.empty()) ring = name;
      }
    }
  }
  report.rows = with_rates(rows, measure(contenders, contest.repetitions, contest.min_seconds));
  return report;
}

}  // namespace course::bench
