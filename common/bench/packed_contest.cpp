#include <fmt/format.h>

#include "bench/by_clock.hpp"

namespace course::bench {

namespace {

constexpr int query_heads = 32, few_key_heads = 8;

}  // namespace

std::vector<Row> hold_packed(const Contest& contest) {
  std::vector<Contender> contenders;
  std::vector<Row> rows;
  const int tokens = contest.tokens;
  const auto add = [&](const std::string& name, const std::shared_ptr<const Problem>& problem, int ranks,
                       PlayedFunction function) {
    contenders.push_back(by_clock(contest, name, problem, ranks, std::move(function)));
    return name;
  };
  const auto hold = [&](const std::string& name, const std::string& against) {
    rows.push_back({name, against});
  };
  const timed::Code &grouped = contest.lessons.at(Role::RingGrouped),
                    &packed = contest.lessons.at(Role::RingPacked);
  const auto of_heads = [&](Index kv_heads) {
    return std::make_shared<const Problem>(timed::Extents{query_heads, tokens, contest.ring_head_dim},
                                           timed::PackedRow{}, kv_heads);
  };
  const auto of_row = [&](Index window) {
    return std::make_shared<const Problem>(timed::Extents{contest.heads, tokens, contest.ring_head_dim},
                                           timed::PackedRow{{0, tokens}, window, true}, contest.heads);
  };
  const auto all_heads = of_heads(query_heads), few_heads = of_heads(few_key_heads), all_before = of_row(0);
  for (const int ranks : contest.ring_ranks) {
    require_even_shards(tokens, ranks);
    const auto ring_of = [&](const std::shared_ptr<const Problem>& problem, Index kv_heads) {
      return add(fmt::format("ring of {}, {}/{} heads", ranks, query_heads, kv_heads), problem, ranks,
                 {grouped.library, grouped.ring});
    };
    const std::string as_many = ring_of(all_heads, query_heads);
    rows.push_back({as_many});
    hold(ring_of(few_heads, few_key_heads), as_many);

    const auto of_window = [&](const std::string& what, const std::shared_ptr<const Problem>& problem,
                               Index window, bool gathers) {
      const timed::PackedRow row{{0, tokens}, window, true};
      return add(fmt::format("{} of {}", what, ranks), problem, ranks,
                 gathers ? PlayedFunction{contest.gather, "gather_attention", {{"window", {double(window)}}}}
                         : PlayedFunction{.library = packed.library, .name = packed.ring, .row = row});
    };
    const Index window = tokens / ranks + 1;
    const auto in_window = of_row(window);
    const std::string full = of_window("causal ring", all_before, 0, false),
                      ring = of_window(fmt::format("ring, window {},", window), in_window, window, false),
                      gather = of_window(fmt::format("gather, window {},", window), in_window, window, true);
    rows.push_back({full});
    hold(ring, full);
    hold(gather, full);
    hold(ring, gather);
  }
  return with_rates(rows, measure(contenders, contest.repetitions, contest.min_seconds));
}

}  // namespace course::bench
