#include "judge/attention/packed.hpp"

#include <fmt/format.h>

#include "judge/attention/layouts/layouts.hpp"
#include "judge/attention/ring/ring_mask.hpp"
#include "judge/checks/communication_checks.hpp"
#include "ring/shards.hpp"

namespace course::packed {

namespace {

std::int64_t bytes_of_longest(const Example& example) {
  return grouped::bytes_of_tokens(example, largest_shard(example.layout.shard_tokens()));
}

/// How many blocks leave `from` for the next rank on their way to the last one that sees a key of them.
std::int64_t blocks_passed_on(const Example& example, int from) {
  const std::vector<int> hops = hops_needed(example);
  std::int64_t blocks = 0;
  for (int owner = 0; owner < example.ranks(); ++owner)
    blocks += hops[owner] > hops_between(owner, from, example.ranks()) ? 1 : 0;
  return blocks;
}

std::int64_t bytes_of_sinks(const Example& example) {
  return example.inputs.at("sinks").size() * Index{sizeof(float)};
}

}  // namespace

Arguments arguments_of(const RowMask& mask) {
  return {{"starts", {mask.starts.begin(), mask.starts.end()}},
          {"window", {static_cast<double>(mask.window)}},
          {"causal", {mask.causal ? 1.0 : 0.0}}};
}

std::vector<std::pair<std::string, RowMask>> all_kinds(InputGenerator& generator, int ranks, int shard) {
  const Index n = shard, all = Index{ranks} * n;
  const Index some = generator.integer(2, std::max(2, shard - 1));
  return {{"one document, a window of a shard and one", {{0, all}, n + 1}},
          {"one document, a window of two shards and one", {{0, all}, 2 * n + 1}},
          {"a long document between two short ones", {{0, 2, all - 1, all}}},
          {"documents that end with a shard, and one token later", {{0, n, std::min(n + 1, all), all}}},
          {"documents of one token, and of none", {{0, 1, 1, 2, 3, 3, all - 1, all}}},
          {"documents, not causal", {{0, some, all - 1, all}, 0, false}},
          {"one document, a window of one token", {{0, all}, 1}},
          {"a few tokens of padding", {{0, std::min(n - 1, all - 3), all - 3}, n}},
          {"more padding than a shard", {{0, some, std::max(some, all - n - 1)}}},
          {"documents, and a window longer than the row", {{0, some, all}, all + 3}}};
}

std::vector<int> hops_needed(const Example& example) {
  const int ranks = example.ranks();
  std::vector<int> hops(ranks, 0);
  for (int owner = 0; owner < ranks; ++owner) {
    for (int hop = 1; hop < ranks; ++hop) {
      if (ring_mask::is_seen(example, example.ahead(owner, hop), owner)) hops[owner] = hop;
    }
  }
  return hops;
}

std::int64_t needed_forward(const Example& example, int from, int to) {
  return to == example.ahead(from) ? blocks_passed_on(example, from) * bytes_of_longest(example) : 0;
}

std::int64_t needed_backward(const Example& example, int from, int to) {
  const std::int64_t block = bytes_of_longest(example);
  const int distance = hops_between(to, from, example.ranks());  // from the owner `to`
  const bool has_gradients = distance > 0 && distance <= hops_needed(example)[to];
  return 2 * needed_forward(example, from, to) + (has_gradients ? block : 0) + bytes_of_sinks(example);
}

std::vector<Finding> sends_gradients_home_once(const Example& example, const Outcome& outcome) {
  if (!checks::traffic_was_measured(outcome)) return {};
  std::int64_t sent = 0, blocks = 0;
  for (const RankReport& report : outcome.reports) sent += checks::bytes_sent(report);
  for (const int hops : hops_needed(example)) blocks += hops > 0 ? 2 * hops + 1 : 0;
  const std::int64_t needed = blocks * bytes_of_longest(example);
  if (sent <= needed) return {};
  return {
      {"", fmt::format("all ranks together sent {} bytes; {} are needed: keys, values and their gradients "
                       "on their hops, and gradients once more on their way home",
                       sent, needed)}};
}

Example make_example(InputGenerator& generator, std::string what, const Layout& layout,
                     const grouped::Sizes& sizes, const RowMask& mask, std::vector<float> slopes,
                     std::vector<float> sinks) {
  Example example = grouped::make_example(generator, std::move(what), layout, sizes);
  example.arguments.erase("scale");
  example.arguments.merge(layouts::arguments_of(layout));
  example.arguments.merge(arguments_of(mask));
  const auto one_a_head = [](std::vector<float> numbers) {
    const Index count = std::ssize(numbers);
    return Tensor({count}, std::move(numbers));
  };
  example.inputs["slopes"] = one_a_head(std::move(slopes));
  example.inputs["sinks"] = one_a_head(std::move(sinks));
  return example;
}

}  // namespace course::packed
