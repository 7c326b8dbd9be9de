#include <fmt/format.h>

#include <algorithm>

#include "judge/attention/exchange/tasks.hpp"
#include "judge/attention/exchange/traffic.hpp"
#include "judge/attention/forward.hpp"
#include "judge/exact_task.hpp"
#include "judge/refusal.hpp"

namespace course::exchange {

namespace {

Example heads_example(std::string what, Index heads, Index kv_heads, const std::vector<int>& tokens,
                      int head_dim) {
  return {std::move(what),
          {},
          {{"heads", {double(heads)}},
           {"kv_heads", {double(kv_heads)}},
           {"shard_tokens", {tokens.begin(), tokens.end()}},
           {"head_dim", {double(head_dim)}}}};
}

std::vector<Example> numbers_of_heads(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](Index heads, Index kv_heads, const std::vector<int>& tokens) {
    all.push_back(
        heads_example(fmt::format("{} query heads, {} key heads, {} ranks", heads, kv_heads, tokens.size()),
                      heads, kv_heads, tokens, generator.integer(2, 9)));
  };
  add(8, 2, {5, 5, 5, 5});
  add(8, 2, {7, 0, 1, 4});
  add(10, 2, {4, 6, 3});
  add(6, 2, {3, 1, 0, 9});
  add(3, 1, {2, 5, 1, 4, 3});
  add(5, 5, {6, 2, 3});
  add(8, 1, {1, 1, 2, 0, 0, 3, 1, 1});
  add(4, 2, {9});
  const int kv_heads = generator.integer(2, 5), ranks = generator.integer(2, 8);
  const int group = generator.integer(1, 6);
  add(kv_heads * group, kv_heads, unequal_shards(generator, ranks));
  all.push_back(
      heads_example("a million tokens a rank, 64 heads", 64, 8, {1 << 20, 1 << 20, 1 << 20, 1 << 20}, 128));
  all.back().less_telling = true;
  const auto refused = [&](const char* what, int heads, int kv) {
    all.push_back(refusal::refusing(heads_example(what, heads, kv, {3, 3}, 4), {double(heads), double(kv)}));
  };
  refused("3 key heads for 10 query heads", 10, 3);
  refused("no key heads for 14 query heads", 14, 0);
  return all;
}

Answer shares_and_traffic(const Example& example) {
  const std::vector<double>& tokens = example.arguments.at("shard_tokens");
  const int ranks = static_cast<int>(tokens.size());
  Example shared = with_shares(example, integer(example, "heads"), integer(example, "kv_heads"));
  shared.layout = Layout(std::vector<int>(tokens.begin(), tokens.end()));
  Answer answer{{"traffic", Tensor64({ranks, ranks + 1}, -1)}};
  const auto write = [&](const char* name, const std::vector<Index>& heads) {
    answer[name] = Tensor64({ranks});
    std::ranges::copy(heads, answer[name].data());
  };
  const Ranges queries = ranges_of(shared, by_heads), keys = ranges_of(shared, by_key_heads);
  write("first", queries.first);
  write("last", queries.last);
  write("kv_first", keys.first);
  write("kv_last", keys.last);
  const std::vector<Exchange> all = forward_exchanges(integer(example, "head_dim"));
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to)
      answer["traffic"].matrix()(from, to) =
          from == to ? 0 : static_cast<double>(bytes(shared, all, from, to));
  }
  return answer;
}

}  // namespace

Task shares_task(std::string id, std::string function, std::string traffic) {
  const std::vector<std::string> axes{"rank"};
  Task task = exact_task(std::move(id), std::move(function),
                         {{"first", axes},
                          {"last", axes},
                          {"kv_first", axes},
                          {"kv_last", axes},
                          {.name = "traffic", .axes = {"from", "to"}, .called = std::move(traffic)}},
                         numbers_of_heads, shares_and_traffic);
  task.explain = telling_arguments({"heads", "kv_heads", "shard_tokens", "head_dim"});
  return refusal::with_refusals(std::move(task));
}

}  // namespace course::exchange
