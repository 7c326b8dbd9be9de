#include "judge/attention/head_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "judge/attention/packed/packed.hpp"
#include "judge/checks/communication_checks.hpp"
#include "ring/shards.hpp"

namespace course::head_shares {

namespace {

template <class T>
TensorOf<T> gathered_heads(const TensorOf<T>& x, const Ranges& ranges) {
  std::vector<Index> which;
  for (int rank = 0; rank < ranges.ranks(); ++rank)
    for (Index head = ranges.first[rank]; head < ranges.last[rank]; ++head) which.push_back(head);
  return take(x, 0, which);
}

std::vector<Ranges> ranges_of_all(const Example& example, const std::vector<Exchange>& all) {
  std::vector<Ranges> ranges;
  for (const Exchange& exchange : all) ranges.push_back(ranges_of(example, exchange.ranges));
  return ranges;
}

Index most_heads(const Ranges& ranges) {
  Index most = 0;
  for (int rank = 0; rank < ranges.ranks(); ++rank) most = std::max(most, ranges.count(rank));
  return most;
}

}  // namespace

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
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
    ranges.first.push_back(static_cast<Index>(numbers[i]));
    ranges.last.push_back(static_cast<Index>(numbers[i + 1]));
  }
  return ranges;
}

Ranges query_shares(Index heads, int ranks) {
  Ranges shares;
  Index next = 0;
  for (const int own : even_shards(static_cast<int>(heads), ranks)) {
    shares.first.push_back(own > 0 ? next : 0);
    shares.last.push_back(own > 0 ? next + own : 0);
    next += own;
  }
  return shares;
}

Ranges key_shares(Index heads, Index kv_heads, int ranks) {
  Ranges shares = query_shares(heads, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (shares.count(rank) == 0) continue;
    const double queries = static_cast<double>(heads), keys = static_cast<double>(kv_heads);
    const auto key_head = [&](Index head) {
      return static_cast<Index>(std::floor(static_cast<double>(head) * keys / queries));
    };
    shares.last[rank] = key_head(shares.last[rank] - 1) + 1;
    shares.first[rank] = key_head(shares.first[rank]);
  }
  return shares;
}

Tensor gathered(const Tensor& x, const Ranges& ranges) {
  return gathered_heads(x, ranges);
}

Tensor64 gathered(const Tensor64& x, const Ranges& ranges) {
  return gathered_heads(x, ranges);
}

std::function<Layout(const Example&)> layout_of(const char* argument) {
  return [argument](const Example& example) {
    const Ranges ranges = ranges_of(example, argument);
    std::vector<int> counts;
    for (int rank = 0; rank < ranges.ranks(); ++rank) counts.push_back(static_cast<int>(ranges.count(rank)));
    return Layout(counts);
  };
}

std::int64_t bytes(const Example& example, const std::vector<Exchange>& all, int from, int to) {
  std::int64_t numbers = 0;
  for (const Exchange& exchange : all) {
    const Ranges heads = ranges_of(example, exchange.ranges);
    const int has_tokens = exchange.back ? to : from, has_heads = exchange.back ? from : to;
    numbers += example.layout.tokens(has_tokens) * heads.count(has_heads) * exchange.width;
  }
  return numbers * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t padded_bytes(const Example& example, const std::vector<Exchange>& all) {
  const Index longest = largest_shard(example.layout.shard_tokens());
  const std::vector<Ranges> ranges = ranges_of_all(example, all);
  std::int64_t numbers = 0;
  for (std::size_t i = 0; i < all.size(); ++i) numbers += longest * most_heads(ranges[i]) * all[i].width;
  return numbers * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t bytes_held(const Example& example, const std::vector<Exchange>& all, int rank) {
  const std::vector<Ranges> ranges = ranges_of_all(example, all);
  std::int64_t numbers = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    numbers += example.layout.tokens() * ranges[i].count(rank) * all[i].width;
  return numbers * static_cast<std::int64_t>(sizeof(float));
}

Example with_shares(Example example, Index heads, Index kv_heads) {
  const int ranks = static_cast<int>(example.arguments.at("shard_tokens").size());
  example.arguments[by_heads] = head_shares::as_argument(head_shares::query_shares(heads, ranks));
  example.arguments[by_key_heads] = head_shares::as_argument(head_shares::key_shares(heads, kv_heads, ranks));
  return example;
}

Example attention_example(InputGenerator& generator, std::string what, const Layout& layout,
                          const grouped::Sizes& sizes, bool causal) {
  Example example = packed::make_example(generator, std::move(what), layout, sizes,
                                         {{0, layout.tokens()}, 0, causal}, {}, {});
  for (const char* none : {"slopes", "sinks"}) example.inputs.erase(none);
  example.arguments["kv_heads"] = {static_cast<double>(sizes.kv_heads)};
  return with_shares(std::move(example), sizes.heads, sizes.kv_heads);
}

Example backward_example(InputGenerator& generator, Example forward) {
  Example example = grouped::with_gradient(generator, std::move(forward));
  const Ranges queries = ranges_of(example, by_heads), keys = ranges_of(example, by_key_heads);
  for (const auto& [name, ranges] :
       {std::pair{"q", &queries}, {"k", &keys}, {"v", &keys}, {"o", &queries}, {"lse", &queries}}) {
    example.inputs[std::string("kept_") + name] = gathered(example.inputs.at(name), *ranges);
    example.inputs.erase(name);
  }
  return example;
}

Example with_whole_heads(const Example& example) {
  Example whole = example;
  whole.worked = nullptr;
  const Ranges keys = ranges_of(example, by_key_heads);
  std::vector<Index> first_copy;
  Index place = 0;
  for (int rank = 0; rank < keys.ranks(); ++rank) {
    for (Index head = keys.first[rank]; head < keys.last[rank]; ++head, ++place)
      if (head == std::ssize(first_copy)) first_copy.push_back(place);
  }
  const auto kept = [&](const char* name) -> const Tensor& {
    return example.inputs.at(std::string("kept_") + name);
  };
  for (const char* name : {"q", "o", "lse"}) whole.inputs[name] = kept(name);
  for (const char* name : {"k", "v"}) whole.inputs[name] = take(kept(name), 0, first_copy);
  return whole;
}

Tensor coded(Index heads, Index tokens, Index width) {
  Tensor x({heads, tokens, width});
  for (Index i = 0; i < x.size(); ++i) {
    const double head = static_cast<double>(i / (tokens * width)),
                 token = static_cast<double>(i / width % tokens);
    x[i] = static_cast<float>(head + token / 100 + static_cast<double>(i % width) / 10000);
  }
  return x;
}

std::string place_of(double number, Index heads, Index tokens) {
  const double head = std::floor(number + 1e-5), token = std::floor((number - head) * 100 + 1e-3);
  const bool is_one = head >= 0 && head < static_cast<double>(heads) && token < static_cast<double>(tokens);
  return is_one ? fmt::format("token {} of head {}", token, head) : "no token of any head";
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

}  // namespace course::head_shares
