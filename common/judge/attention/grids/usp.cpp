#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "judge/attention/exchange/examples.hpp"
#include "judge/attention/exchange/traffic.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/grids/grids.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "judge/refusal.hpp"
#include "ring/shards.hpp"

namespace course::grids {

namespace {

/// Heads and a layout on a grid of so many columns.
struct Row {
  std::string what;
  Index heads, kv_heads;
  Layout layout;
  bool causal = true;
};

/// What tells the mistakes of a grid apart; on one that is no more than a ring or an exchange the second.
std::vector<Row> rows(InputGenerator& generator, int ranks, int ulysses) {
  const int rings = ranks / ulysses;
  // Groups of query heads that the shares of such a group of ranks cut.
  const auto [cut, of_cut] = ulysses > 3    ? std::pair{10, 2}
                             : ulysses == 3 ? std::pair{8, 2}
                                            : std::pair{6, 3};
  const std::vector<Row> all{
      {"equal slices of one piece", 2 * ulysses, ulysses, layout_of(4 * ranks, ulysses, rings, false)},
      {"slices of zigzag blocks, shares that begin inside a group", cut, of_cut,
       layout_of(4 * ranks + 3, ulysses, rings, true)},
      {"zigzag of all ranks, key heads on several ranks", 2 * ulysses, std::max(1, ulysses / 2),
       Layout::named("zigzag", 2 * ranks, ranks)},
      {"any layout, fewer heads than ranks of a group, not causal", std::max(1, ulysses - 1), 1,
       exchange::any_layout(generator, ranks), false}};
  if (ulysses > 1 && rings > 1) return all;
  return {all[1], all[3]};
}

std::vector<Example> grids(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (int ulysses = 1; ulysses <= ranks; ++ulysses) {
    const bool flat = ulysses == 1 || ulysses == ranks;
    if (ranks % ulysses != 0 || (flat && ranks > 4)) continue;
    for (const Row& row : rows(generator, ranks, ulysses)) {
      const Index width = generator.integer(2, 5);
      all.push_back(on_grid(generator, ulysses, row.what, row.layout, {row.heads, row.kv_heads, width, width},
                            row.causal));
      all.back().less_telling = row.heads < ulysses;
    }
  }
  const int other = ranks % 3 == 0 ? 4 : 3;
  const Layout layout(std::vector<int>(ranks, 2));
  for (const int ulysses : {other, 0}) {
    Example refused = on_grid(generator, 1, "", layout, {2, 1, 2, 2}, true);
    refused.what = fmt::format("refusing groups of {} in a world of {}", ulysses, ranks);
    refused.arguments["ulysses"] = {double(ulysses)};
    all.push_back(refusal::refusing(std::move(refused), {double(ulysses), double(ranks)}));
  }
  return all;
}

std::vector<exchange::Exchange> exchanges_of(const Example& example) {
  return exchange::forward_exchanges(example.inputs.at("q").extent(2));
}

/// K and V of the longest of all groups, of this rank's heads, as often as the ring hops.
std::int64_t bytes_of_ring(const Example& example, int rank) {
  const int ranks = example.ranks(), ulysses = static_cast<int>(example.topology.row_of(0, ranks).size());
  std::vector<int> tokens(ranks / ulysses);
  for (int of = 0; of < ranks; ++of) tokens[of / ulysses] += example.layout.tokens(of);
  const Index heads = exchange::ranges_of(example, exchange::by_key_heads).count(rank),
              width = example.inputs.at("q").extent(2);
  return (ranks / ulysses - 1) * 2 * heads * largest_shard(tokens) * width *
         static_cast<std::int64_t>(sizeof(float));
}

std::int64_t needed_on_grid(const Example& example, int from, int to) {
  if (refusal::is_refused(example)) return 0;
  const bool next = to == example.ahead(from);
  return exchange::padded_parts(exchanges_of)(example, from, to) + (next ? bytes_of_ring(example, from) : 0);
}

/// "the group of rank 0 is ranks 0, 1; its ring goes on to rank 2"
std::string who_talks(const Example& example, int rank) {
  return fmt::format("the group of rank {} is {} {}; its ring goes on to rank {}", rank,
                     example.topology.row_of(rank, example.ranks()).size() > 1 ? "ranks" : "rank",
                     fmt::join(example.topology.row_of(rank, example.ranks()), ", "), example.ahead(rank));
}

}  // namespace

std::function<std::string(const Played&)> sizes_in_words(std::string argument) {
  return [argument = std::move(argument)](const Played& played) {
    const Example& example = *played.example;
    return fmt::format("{} query heads; {}", example.inputs.at("q").extent(0),
                       arguments_in_words(example, {"kv_heads", argument, "shard_tokens", "causal"}));
  };
}

Example on_grid(InputGenerator& generator, int ulysses, const std::string& what, const Layout& layout,
                const grouped::Sizes& sizes, bool causal) {
  Example example = exchange::attention_example(
      generator, fmt::format("{} x {}, {}", ulysses, layout.ranks() / ulysses, what), layout, sizes, causal,
      Topology::grid(ulysses));
  example.arguments["ulysses"] = {double(ulysses)};
  return example;
}

Task usp_task(std::string id, std::string function) {
  using namespace checks;
  Task task = refusal::with_refusals_of_ranks(grouped::forward_task(std::move(id), std::move(function)));
  task.examples = grids;
  task.explain = sizes_in_words("ulysses");
  task.communication_checks = {
      first_of({without_fact(fact_world, ""), sends_by_the_map(needed_on_grid, who_talks, "")}),
      uses_only_known_calls(),
      stays_in_its_memory(),
      completes_its_requests(""),
      frees_what_it_makes(""),
      tells_null_peers};
  return task;
}

}  // namespace course::grids
