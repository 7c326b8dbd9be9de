#include "judge/attention/packed/packed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "judge/attention/forward.hpp"
#include "judge/attention/grouped/rings.hpp"
#include "judge/attention/layouts/layouts.hpp"
#include "reference/hops.hpp"
#include "ring/shards.hpp"

namespace course::packed {

namespace {

std::int64_t bytes_of_block(const Example& example) {
  return grouped::bytes_of_longest(grouped::bytes_of_tokens, example);
}

/// How many blocks leave `from` for the next rank on their way to the last one that sees a key of them.
std::int64_t blocks_passed_on(const std::vector<int>& hops, int from) {
  const int ranks = static_cast<int>(hops.size());
  std::int64_t blocks = 0;
  for (int owner = 0; owner < ranks; ++owner)
    blocks += hops[owner] > hops_between(owner, from, ranks) ? 1 : 0;
  return blocks;
}

/// What collectives have to bring `to` of d_sinks: messages may not.
std::int64_t bytes_of_sinks(const Example& example, const Traffic& traffic, int to) {
  const auto sent = [to](const std::map<int, std::int64_t>& bytes) {
    const auto found = bytes.find(to);
    return found == bytes.end() ? 0 : found->second;
  };
  return std::min(example.inputs.at("sinks").size() * Index{sizeof(float)},
                  sent(bytes_by_peer(traffic)) - sent(messages_by_peer(traffic)));
}

}  // namespace

Arguments arguments_of(const RowMask& mask) {
  return {{"starts", {mask.starts.begin(), mask.starts.end()}},
          {"window", {static_cast<double>(mask.window)}},
          {"causal", {mask.causal ? 1.0 : 0.0}}};
}

Example under_mask(Example example, const RowMask& mask, std::vector<float> slopes,
                   std::vector<float> sinks) {
  example.arguments.erase("scale");
  example.arguments.merge(layouts::arguments_of(example.layout));
  example.arguments.merge(arguments_of(mask));
  const auto one_a_head = [](std::vector<float> numbers) {
    const Index count = std::ssize(numbers);
    return Tensor({count}, std::move(numbers));
  };
  example.inputs["slopes"] = one_a_head(std::move(slopes));
  example.inputs["sinks"] = one_a_head(std::move(sinks));
  return example;
}

Example make_example(InputGenerator& generator, std::string what, const Layout& layout,
                     const grouped::Sizes& sizes, const RowMask& mask, std::vector<float> slopes,
                     std::vector<float> sinks) {
  return under_mask(grouped::make_example(generator, std::move(what), layout, sizes), mask, std::move(slopes),
                    std::move(sinks));
}

std::vector<int> hops_needed(const Example& example) {
  return reference::hops_needed(example.layout, keys_seen(example));
}

std::vector<Finding> sends_blocks_where_needed(const Example& example, const Outcome& outcome) {
  const std::int64_t block = bytes_of_block(example);
  const auto needed = [block, hops = hops_needed(example)](const Example& of, int from, int to) {
    return to == of.ahead(from) ? blocks_passed_on(hops, from) * block : 0;
  };
  return checks::sends_only_what_is_needed(needed, "")(example, outcome);
}

std::vector<Finding> sends_gradients_where_needed(const Example& example, const Outcome& outcome) {
  const std::int64_t block = bytes_of_block(example);
  const std::vector<int> hops = hops_needed(example);
  const auto needed = [&](const Example& of, int from, int to) {
    const std::int64_t along = to == of.ahead(from) ? 2 * blocks_passed_on(hops, from) : 0;
    const int distance = hops_between(to, from, of.ranks());  // from the owner `to`
    const std::int64_t home = distance > 0 && distance <= hops[to] ? 1 : 0;
    return (along + home) * block + bytes_of_sinks(of, outcome.reports[from].traffic, to);
  };
  std::vector<Finding> findings = checks::sends_only_what_is_needed(needed, "")(example, outcome);
  if (!checks::traffic_was_measured(outcome)) return findings;
  std::int64_t sent = 0, most = 0;
  for (const RankReport& report : outcome.reports) sent += checks::bytes_sent(report);
  for (const int of_block : hops) most += of_block > 0 ? (2 * of_block + 1) * block : 0;
  if (sent <= most) return findings;
  findings.push_back(
      {"", fmt::format("all ranks together sent {} bytes; {} are needed: keys, values and their gradients "
                       "on their hops, and gradients once more on their way home",
                       sent, most)});
  return findings;
}

}  // namespace course::packed
