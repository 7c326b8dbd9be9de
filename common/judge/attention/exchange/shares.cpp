#include "judge/attention/exchange/shares.hpp"

#include "ring/shards.hpp"

namespace course::exchange {

namespace {

/// What the first ranks have, for every row of a grid.
Ranges in_each_row(const Ranges& row, int ranks) {
  Ranges all;
  for (int rank = 0; rank < ranks; ++rank)
    all.add(row.first[rank % row.ranks()], row.last[rank % row.ranks()]);
  return all;
}

}  // namespace

void Ranges::add(Index from, Index to) {
  first.push_back(from);
  last.push_back(to);
}

std::vector<double> as_argument(const Ranges& ranges) {
  std::vector<double> numbers;
  for (int rank = 0; rank < ranges.ranks(); ++rank) {
    numbers.push_back(static_cast<double>(ranges.first[rank]));
    numbers.push_back(static_cast<double>(ranges.last[rank]));
  }
  return numbers;
}

Ranges ranges_of(const Example& example, const char* argument) {
  const std::vector<double>& numbers = example.arguments.at(argument);
  Ranges ranges;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
    ranges.add(static_cast<Index>(numbers[i]), static_cast<Index>(numbers[i + 1]));
  return ranges;
}

Ranges query_shares(Index heads, int ranks) {
  Ranges shares;
  Index next = 0;
  for (const int own : even_shards(static_cast<int>(heads), ranks)) {
    shares.add(own > 0 ? next : 0, own > 0 ? next + own : 0);
    next += own;
  }
  return shares;
}

Ranges key_shares(Index heads, Index kv_heads, int ranks) {
  Ranges shares = query_shares(heads, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (shares.count(rank) == 0) continue;
    shares.last[rank] = (shares.last[rank] - 1) * kv_heads / heads + 1;
    shares.first[rank] = shares.first[rank] * kv_heads / heads;
  }
  return shares;
}

Example with_shares(Example example, Index heads, Index kv_heads) {
  const int ranks = static_cast<int>(example.arguments.at("shard_tokens").size()),
            columns = static_cast<int>(example.topology.row_of(0, ranks).size());
  example.arguments[by_heads] = as_argument(in_each_row(query_shares(heads, columns), ranks));
  example.arguments[by_key_heads] = as_argument(in_each_row(key_shares(heads, kv_heads, columns), ranks));
  return example;
}

std::function<Layout(const Example&)> layout_of(const char* argument) {
  return [argument](const Example& example) {
    const Ranges ranges = ranges_of(example, argument);
    std::vector<int> counts;
    for (int rank = 0; rank < ranges.ranks(); ++rank) counts.push_back(static_cast<int>(ranges.count(rank)));
    return Layout(counts);
  };
}

}  // namespace course::exchange
