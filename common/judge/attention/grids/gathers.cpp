#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "judge/attention/exchange/examples.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/grids/grids.hpp"
#include "judge/attention/grouped/examples.hpp"
#include "judge/attention/layouts/layouts.hpp"
#include "judge/checks/traffic_checks.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "judge/refusal.hpp"
#include "protocol/block_log.hpp"
#include "ring/shards.hpp"

namespace course::grids {

namespace {

/// 5, 0, 4, 3 of each four ranks.
Layout uneven(int ranks) {
  std::vector<int> lengths;
  for (int rank = 0; rank < ranks; ++rank) lengths.push_back(std::vector{5, 0, 4, 3}[rank % 4]);
  return {lengths};
}

std::vector<Example> gathers(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  const auto add = [&](const char* what, Index at_once, const Layout& layout, const grouped::Sizes& sizes,
                       bool causal = true) {
    all.push_back(gathering(generator, at_once, what, layout, sizes, causal));
  };
  const Index width = generator.integer(2, 5);
  const Layout equal(std::vector<int>(ranks, 3));
  add("a key head at a time, equal shards", 1, equal, {6, 3, width, width});
  add("two of four key heads at a time, uneven shards", 2, uneven(ranks), {8, 4, 3, 3});
  add("all key heads at once, zigzag", 2, Layout::named("zigzag", 2 * ranks + 3, ranks), {4, 2, 4, 4});
  add("one key head, any layout, not causal", 1, exchange::any_layout(generator, ranks), {3, 1, 2, 2}, false);
  if (ranks == grouped::ranks_of_large_blocks) {
    add("key heads of a quarter of a megabyte", 1, Layout(std::vector<int>(ranks, 2)), {8, 8, 4096, 4096});
    all.back().large = true;
  }
  for (const Index at_once : {4, 0}) {
    add("", at_once, equal, {6, 6, 2, 2});
    all.back().what = fmt::format("refusing {} of 6 key heads at a time", at_once);
    all.back() = refusal::refusing(std::move(all.back()), {double(at_once), 6});
  }
  return all;
}

std::vector<Example> backward_gathers(InputGenerator& generator, int ranks) {
  return grouped::with_gradients(generator, gathers(generator, ranks));
}

bool is_backward(const Example& example) {
  return example.inputs.contains("d_o");
}

/// Of so many key heads, K and V of so many tokens.
std::int64_t bytes_of(const Example& example, Index kv_heads, Index tokens) {
  return 2 * kv_heads * tokens * example.inputs.at("k").extent(2) * static_cast<std::int64_t>(sizeof(float));
}

/// To every other rank what is here, and what is added to its rows; all as long as the longest.
std::int64_t needed_in_all(const Example& example, int) {
  if (refusal::is_refused(example)) return 0;
  return (example.ranks() - 1) * (is_backward(example) ? 2 : 1) *
         bytes_of(example, integer(example, "kv_heads"), largest_shard(example.layout.shard_tokens()));
}

/// What is gathered, as it arrives and in order, with the next under way; what the functions give; and a
/// margin for what MPI takes.
std::int64_t memory_of_heads(const Example& example) {
  if (!example.large) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t gathered =
      bytes_of(example, integer(example, "kv_heads_at_once"), example.layout.tokens());
  return (is_backward(example) ? 8 : 4) * gathered +
         2 * bytes_of(example, integer(example, "kv_heads"), largest_shard(example.layout.shard_tokens()));
}

/// A rank with a right answer gave block.accumulate other keys than all, or other heads than so many at once.
std::vector<Finding> gives_key_heads_in_turn(const Played& played) {
  if (!is_right(played) || refusal::is_refused(*played.example)) return {};
  const Example& example = *played.example;
  const Index turns = integer(example, "kv_heads") / integer(example, "kv_heads_at_once");
  for (int rank = 0; rank < example.ranks(); ++rank) {
    const auto log = played.outcome->outputs[rank].find(block_log::output);
    if (log == played.outcome->outputs[rank].end() || example.layout.tokens(rank) == 0) continue;
    const Index calls = log->second.extent(0);
    for (Index call = 0; call < calls; ++call) {
      const std::span<const float> row = log->second.matrix().row(call);
      if (row[1] != static_cast<float>(example.layout.tokens()))
        return {{"", fmt::format("rank {}: block.accumulate was given {} keys; all {} are to be one block",
                                 rank, row[1], example.layout.tokens())}};
      if (row[0] != static_cast<float>(rank))
        return {
            {"", fmt::format("rank {}: block.accumulate was told that the block is rank {}'s; what it has "
                             "gathered is its own",
                             rank, row[0])}};
    }
    if (calls != turns)
      return {{calls == 1 ? "all_heads_at_once" : "",
               fmt::format("rank {} called block.accumulate {}; {} key heads, {} at once, take {}", rank,
                           calls == 1 ? "once" : fmt::format("{} times", calls), integer(example, "kv_heads"),
                           integer(example, "kv_heads_at_once"), turns)}};
  }
  return {};
}

Task held_to(Task task) {
  using namespace checks;
  task = refusal::with_refusals_of_ranks(std::move(task));
  task.logs = {{block_log::output, block_log::columns}, {block_log::scores_output, 1}};
  task.explain = sizes_in_words("kv_heads_at_once");
  task.answer_checks.push_back(gives_key_heads_in_turn);
  task.communication_checks = {
      first_of({without_fact(fact_world, ""), sends_in_all_at_most(needed_in_all, "")}),
      uses_only_known_calls(),
      stays_in_its_memory(),
      completes_its_requests(""),
      frees_what_it_makes(""),
      uses_memory_at_most(memory_of_heads, "all_heads_at_once"),
      tells_null_peers};
  return task;
}

}  // namespace

Example gathering(InputGenerator& generator, Index at_once, const std::string& what, const Layout& layout,
                  const grouped::Sizes& sizes, bool causal) {
  Example example = exchange::attention_example(generator, what, layout, sizes, causal);
  example.arguments["kv_heads_at_once"] = {double(at_once)};
  return example;
}

Task gather_task(std::string id, std::string function) {
  Task task = grouped::forward_task(std::move(id), std::move(function));
  task.examples = gathers;
  return held_to(std::move(task));
}

Task gather_backward_task(std::string id, std::string function) {
  Task task = grouped::backward_task(std::move(id), std::move(function));
  task.examples = backward_gathers;
  return held_to(std::move(task));
}

}  // namespace course::grids
