#include "judge/attention/layouts/parts.hpp"

#include <numeric>

#include "ring/shards.hpp"

namespace course::layouts {

const std::vector<double>& argument(const Example& example, const char* name) {
  return example.arguments.at(name);
}

Layout layout_of(const Example& example) {
  Lists lists;
  auto next = argument(example, "positions").begin();
  for (const double tokens : argument(example, "shard_tokens")) {
    const auto end = next + static_cast<Index>(tokens);
    lists.emplace_back(next, end);
    next = end;
  }
  return Layout::of(std::move(lists));
}

Positions from_to(Index first, Index last) {
  Positions positions(std::max<Index>(0, last - first));
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

Positions order_of(const Layout& layout) {
  Positions order;
  for (int rank = 0; rank < layout.ranks(); ++rank)
    std::ranges::copy(layout.positions(rank), std::back_inserter(order));
  return order;
}

Layout boustrophedon_layout(int tokens, int ranks) {
  Lists lists(ranks);
  for (int t = 0; t < tokens; ++t) {
    const int along = t % ranks;
    lists[t / ranks % 2 == 0 ? along : ranks - 1 - along].push_back(t);
  }
  return Layout::of(std::move(lists));
}

std::vector<std::pair<std::string, Layout>> all_kinds(InputGenerator& generator, int tokens, int ranks) {
  Lists drawn(ranks);
  for (int t = 0; t < tokens; ++t) drawn[generator.integer(0, ranks - 1)].push_back(t);
  return {{"contiguous", even_shards(tokens, ranks)},
          {"striped", Layout::striped(tokens, ranks)},
          {"zigzag", Layout::zigzag(even_shards(tokens, 2 * ranks))},
          {"boustrophedon", boustrophedon_layout(tokens, ranks)},
          {"each token on any rank", Layout::of(std::move(drawn))}};
}

Arguments arguments_of(const Layout& layout) {
  const std::vector<int> lengths = layout.shard_tokens();
  const Positions order = order_of(layout);
  return {{"shard_tokens", {lengths.begin(), lengths.end()}}, {"positions", {order.begin(), order.end()}}};
}

}  // namespace course::layouts
