#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "judge/attention/forward.hpp"
#include "judge/attention/grouped/grouped.hpp"
#include "judge/attention/head_shares.hpp"
#include "judge/attention/layouts/layouts.hpp"
#include "judge/checks/communication_checks.hpp"
#include "judge/checks/traffic_checks.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "judge/exact_task.hpp"
#include "judge/refusal.hpp"
#include "protocol/block_log.hpp"
#include "ring/shards.hpp"

using namespace course;
using head_shares::Exchange;
using head_shares::Ranges;

namespace {

using head_shares::by_heads;
using head_shares::by_key_heads;

// Task 1

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
  add(kv_heads * generator.integer(1, 6), kv_heads, unequal_shards(generator, ranks));
  all.push_back(
      heads_example("a million tokens a rank, 64 heads", 64, 8, {1 << 20, 1 << 20, 1 << 20, 1 << 20}, 128));
  all.back().less_telling = true;
  const auto refused = [&](const char* what, int heads, int kv, std::vector<double> numbers) {
    all.push_back(heads_example(what, heads, kv, {3, 3}, 4));
    all.back().arguments["refuses"] = std::move(numbers);
  };
  refused("3 key heads for 10 query heads", 10, 3, {10, 3});
  refused("no key heads for 14 query heads", 14, 0, {14, 0});
  return all;
}

/// q, k, v there, o and lse back.
std::vector<Exchange> forward_exchanges(Index head_dim) {
  return {{by_heads, head_dim},
          {by_key_heads, head_dim},
          {by_key_heads, head_dim},
          {by_heads, head_dim, true},
          {by_heads, 1, true}};
}

Answer shares_and_traffic(const Example& example) {
  const std::vector<double>& tokens = example.arguments.at("shard_tokens");
  const int ranks = static_cast<int>(tokens.size());
  Answer answer{{"traffic", Tensor64({ranks, ranks + 1}, -1)}};
  for (const char* name : {"first", "last", "kv_first", "kv_last"}) answer[name] = Tensor64({ranks});
  if (refusal::is_refused(example)) return refusal::with_refusal(example, std::move(answer));
  const Index heads = integer(example, "heads"), kv_heads = integer(example, "kv_heads");
  Example shared = head_shares::with_shares(example, heads, kv_heads);
  shared.layout = Layout(std::vector<int>(tokens.begin(), tokens.end()));
  const Ranges queries = head_shares::ranges_of(shared, by_heads),
               keys = head_shares::ranges_of(shared, by_key_heads);
  std::ranges::copy(queries.first, answer["first"].data());
  std::ranges::copy(queries.last, answer["last"].data());
  std::ranges::copy(keys.first, answer["kv_first"].data());
  std::ranges::copy(keys.last, answer["kv_last"].data());
  const std::vector<Exchange> all = forward_exchanges(integer(example, "head_dim"));
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to)
      answer["traffic"].matrix()(from, to) =
          from == to ? 0 : static_cast<double>(head_shares::bytes(shared, all, from, to));
  }
  return refusal::with_refusal(example, std::move(answer));
}

Task shares_task() {
  const std::vector<std::string> axes{"rank"};
  Task task = exact_task("1", "head_share",
                         {{"first", axes},
                          {"last", axes},
                          {"kv_first", axes},
                          {"kv_last", axes},
                          {.name = "traffic", .axes = {"from", "to"}, .called = "ulysses_traffic"},
                          refusal::output()},
                         numbers_of_heads, shares_and_traffic);
  task.explain = telling_arguments({"heads", "kv_heads", "shard_tokens", "head_dim"});
  return task;
}

// Who owns what, tasks 2 to 5

/// Unequal shards, of three ranks or more one of them empty, with positions in any order.
Layout any_layout(InputGenerator& generator, int ranks) {
  std::vector<int> left = unequal_shards(generator, ranks);
  if (ranks > 2) left[1] = 0;
  std::vector<std::vector<Index>> lists(ranks);
  for (Index position = 0, all = total_tokens(left); position < all; ++position) {
    int rank = generator.integer(0, ranks - 1);
    while (left[rank] == 0) rank = (rank + 1) % ranks;
    --left[rank];
    lists[rank].push_back(position);
  }
  return Layout::of(std::move(lists));
}

Layout all_on_one(int tokens, int ranks, int rank) {
  std::vector<int> lengths(ranks, 0);
  lengths[rank] = tokens;
  return {lengths};
}

/// Heads and who owns which tokens: what tells the mistakes of exchanges apart.
struct Row {
  std::string what;
  Index heads, kv_heads;
  Layout layout;
  bool copied = false;  ///< in tasks 2 and 3 of the key heads, which several ranks have
};

std::vector<Row> rows(InputGenerator& generator, int ranks) {
  // Groups that the shares of this world cut.
  const Index cut = ranks < 3 || ranks == 4 ? 6
                    : ranks == 8            ? 20
                                            : 2 * (ranks + 2),
              of_cut = ranks < 3 ? 3 : 2;
  const Index key_heads = std::max(1, ranks / 2);
  return {{"equal shards of equal shares", 2 * ranks, ranks, Layout(std::vector<int>(ranks, 3))},
          {"shares that begin inside a group, any layout", cut, of_cut, any_layout(generator, ranks)},
          {"key heads on several ranks, zigzag", 2 * ranks, ranks % 2 == 0 ? key_heads : 1,
           Layout::named("zigzag", 4 * ranks, ranks), true},
          {"fewer heads than ranks, stripes", std::max(1, ranks - 2), 1,
           Layout::named("striped", 2 * ranks + 1, ranks), true},
          {"three tokens, or fewer than ranks, a head a rank", ranks, ranks,
           Layout(even_shards(std::max(3, ranks - 1), ranks))},
          {"all tokens on one rank", ranks + 1, ranks + 1, all_on_one(7, ranks, ranks / 2)}};
}

/// Where ranks have no tokens or no heads, what is wrong is mostly that nothing is there.
bool is_less_telling(const Row& row) {
  const int ranks = row.layout.ranks();
  return row.heads < ranks || row.layout.tokens(ranks / 2) == row.layout.tokens();
}

/// Ranges of a tensor's heads.
Ranges shares(const Row& row) {
  const int ranks = row.layout.ranks();
  return row.copied ? head_shares::key_shares(row.heads, row.kv_heads, ranks)
                    : head_shares::query_shares(row.heads, ranks);
}

Index heads_of_tensor(const Row& row) {
  return row.copied ? row.kv_heads : row.heads;
}

Example exchange_example(const Row& row) {
  Example example{row.what, {}, layouts::arguments_of(row.layout), row.layout};
  example.arguments[by_heads] = head_shares::as_argument(shares(row));
  example.less_telling = is_less_telling(row);
  return example;
}

/// Of 17 heads on one rank an output has 13.
std::vector<Example> refused(const char* name, int ranks) {
  if (ranks > 1) return {};
  Example example = exchange_example({"13 heads where there should be 17", 17, 17, Layout({3})});
  example.inputs[name] = head_shares::coded(17, 3, 2);
  for (const char* argument : {"heads_given", "heads"}) example.arguments[argument] = {13};
  example.arguments["refuses"] = {13, 17};
  return {std::move(example)};
}

std::vector<Example> there(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (const Row& row : rows(generator, ranks)) {
    Example example = exchange_example(row);
    example.inputs["x"] =
        head_shares::coded(heads_of_tensor(row), row.layout.tokens(), generator.integer(2, 5));
    all.push_back(std::move(example));
  }
  std::ranges::move(refused("x", ranks), std::back_inserter(all));
  return all;
}

/// Where several ranks have a head, each has numbers of its own for it. A head more is nobody's.
std::vector<Example> back(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (const Row& row : rows(generator, ranks)) {
    Example example = exchange_example(row);
    example.arguments["heads"] = {double(heads_of_tensor(row) + (row.copied ? 1 : 0))};
    const Ranges ranges = shares(row);
    Index held = 0;
    for (int rank = 0; rank < ranks; ++rank) held += ranges.count(rank);
    example.inputs["y"] = generator.normal({held, row.layout.tokens(), generator.integer(2, 5)});
    all.push_back(std::move(example));
  }
  std::ranges::move(refused("y", ranks), std::back_inserter(all));
  return all;
}

Answer gathered_heads(const Example& example) {
  const Tensor64 x = input(example, "x");
  Tensor64 y = refusal::is_refused(example)
                   ? Tensor64({integer(example, "heads_given"), x.extent(1), x.extent(2)})
                   : head_shares::gathered(x, head_shares::ranges_of(example, by_heads));
  return refusal::with_refusal(example, {{"y", std::move(y)}});
}

Answer summed_heads(const Example& example) {
  const Tensor64 y = input(example, "y");
  Tensor64 x({integer(example, "heads"), y.extent(1), y.extent(2)});
  if (refusal::is_refused(example)) return refusal::with_refusal(example, {{"x", std::move(x)}});
  const Ranges ranges = head_shares::ranges_of(example, by_heads);
  const Index size_of_head = y.extent(1) * y.extent(2);
  Index from = 0;
  for (int rank = 0; rank < ranges.ranks(); ++rank) {
    for (Index i = ranges.first[rank] * size_of_head; i < ranges.last[rank] * size_of_head; ++i)
      x[i] += y[from++];
  }
  return refusal::with_refusal(example, {{"x", std::move(x)}});
}

/// "the first wrong row holds token 3 of head 0; it should hold token 4 of head 1"
std::string what_came(const Played& played) {
  const auto found = played.answer.find("y");
  if (found == played.answer.end()) return "";
  const Tensor64 &y = found->second, &expected = played.expected.at("y");
  const Tensor& x = played.example->inputs.at("x");
  for (Index i = 0; i < y.size(); i += y.extent(2)) {
    if (y[i] == expected[i]) continue;
    const auto place = [&](double number) { return head_shares::place_of(number, x.extent(0), x.extent(1)); };
    return fmt::format("the first wrong row holds {}; it should hold {}", place(y[i]), place(expected[i]));
  }
  return "";
}

Output refusal_of_ranks() {
  Output output = refusal::output();
  output.axes = {"rank"};
  return output;
}

/// What every exchange is held to: bytes to each rank as if every part were as long as the longest. Where
/// ranks sent as many as `copied` recognises, keys_copied_to_all_heads.
std::vector<CommunicationCheck> exchange_checks(
    std::vector<Exchange> (*exchanges)(const Example&),
    checks::Recognises copied = [](const Example&, const Outcome&) { return false; }) {
  using namespace checks;
  const NeededBytes needed = [exchanges](const Example& example, int, int) {
    return head_shares::padded_bytes(example, exchanges(example));
  };
  const CommunicationCheck sends =
      named_if(sends_only_what_is_needed(needed, ""), std::move(copied), "keys_copied_to_all_heads");
  return {first_of({without_fact(fact_world, ""), named_if(sends, gathered, "everything_gathered")}),
          uses_only_known_calls(),
          stays_in_its_memory(),
          completes_its_requests(""),
          frees_what_it_makes(""),
          tells_null_peers};
}

Task there_task() {
  Task task =
      exact_task("2", "tokens_to_heads",
                 {{.name = "y", .axes = {"head", "row", "col"}, .layout = head_shares::layout_of(by_heads)},
                  refusal_of_ranks()},
                 there, gathered_heads);
  task.communication_checks = exchange_checks([](const Example& example) {
    return std::vector<Exchange>{{by_heads, example.inputs.at("x").extent(2)}};
  });
  task.split_axis = {{"x", 1}};
  task.explain = what_came;
  return task;
}

Task back_task() {
  return {.id = "3",
          .function = "heads_to_tokens",
          .outputs = {{"x", {"head", "row", "col"}, 1}, refusal_of_ranks()},
          .examples = back,
          .expected = summed_heads,
          .baseline = summed_heads,
          .communication_checks = exchange_checks([](const Example& example) {
            return std::vector<Exchange>{{by_heads, example.inputs.at("y").extent(2), true}};
          }),
          .split_axis = {{"y", 0}},
          .split_layout = {{"y", head_shares::layout_of(by_heads)}},
          .uses = "2"};
}

// Tasks 4 and 5

Example attention_example(InputGenerator& generator, const Row& row, Index head_dim, bool causal) {
  Example example =
      head_shares::attention_example(generator, row.what + (causal ? "" : ", not causal"), row.layout,
                                     {row.heads, row.kv_heads, head_dim, head_dim}, causal);
  example.less_telling = is_less_telling(row);
  return example;
}

/// The largest of the registry's worlds.
constexpr int ranks_of_large_heads = 8;

std::vector<Example> forward_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (const Row& row : rows(generator, ranks))
    all.push_back(attention_example(generator, row, generator.integer(2, 5), all.size() % 4 != 3));
  if (ranks == ranks_of_large_heads) {
    const Row row{"heads of a quarter of a megabyte", 8, 8, Layout(std::vector<int>(ranks, 2))};
    all.push_back(attention_example(generator, row, 4096, true));
    all.back().large = true;
  }
  return all;
}

std::vector<Example> backward_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (Example& forward : forward_examples(generator, ranks))
    all.push_back(head_shares::backward_example(generator, std::move(forward)));
  return all;
}

/// What the forward pass keeps, beside what it returns.
template <class OfForward>
Answer with_kept(const Example& example, const OfForward& forward, bool copies_of_inputs) {
  Answer answer = forward(example);
  const Ranges queries = head_shares::ranges_of(example, by_heads),
               keys = head_shares::ranges_of(example, by_key_heads);
  for (const char* name : {"o", "lse"})
    answer[std::string("kept_") + name] = head_shares::gathered(answer.at(name), queries);
  for (const char* name : {"q", "k", "v"}) {
    Tensor64 kept = head_shares::gathered(input(example, name), *name == 'q' ? queries : keys);
    if (!copies_of_inputs) std::ranges::fill(kept.values(), 0.0);
    answer[std::string("kept_") + name] = std::move(kept);
  }
  return answer;
}

std::vector<Exchange> exchanges_of_forward(const Example& example) {
  return forward_exchanges(example.inputs.at("q").extent(2));
}

/// d_o there; dq, dk and dv back.
std::vector<Exchange> exchanges_of_backward(const Example& example) {
  const Index width = example.inputs.at("d_o").extent(2);
  return {
      {by_heads, width}, {by_heads, width, true}, {by_key_heads, width, true}, {by_key_heads, width, true}};
}

/// Of each rank what it keeps, twice that beside it, and as much as it for what the caller makes.
std::int64_t memory_of_heads(const Example& example) {
  if (!example.large) return std::numeric_limits<std::int64_t>::max();
  const Tensor& kept = example.inputs.at(example.inputs.contains("q") ? "q" : "d_o");
  std::int64_t most = 0;
  for (int rank = 0; rank < example.ranks(); ++rank)
    most = std::max(most, head_shares::bytes_held(example, forward_exchanges(kept.extent(2)), rank));
  return 4 * most;
}

/// k and v go to every rank as if each query head had a key head of its own.
bool sent_a_key_head_for_each_query_head(const Example& example, const Outcome& outcome) {
  std::vector<Exchange> copied = exchanges_of_forward(example);
  for (Exchange& exchange : copied) exchange.ranges = by_heads;
  for (int from = 0; from < example.ranks(); ++from) {
    for (const auto& [to, sent] : bytes_by_peer(outcome.reports.at(from).traffic)) {
      if (to != from && sent != head_shares::bytes(example, copied, from, to)) return false;
    }
  }
  return true;
}

/// Ranks wait for one that has gone and that has no heads.
bool left_without_heads(const Example& example, const Deadlock& deadlock) {
  const Ranges heads = head_shares::ranges_of(example, by_heads);
  return deadlock.kind == Deadlock::Kind::WaitsForFinished && !deadlock.left_at_once.empty() &&
         std::ranges::all_of(deadlock.left_at_once, [&](int rank) { return heads.count(rank) == 0; });
}

/// A rank with a right answer called the block computation more often than it has query heads, or named
/// another owner.
std::vector<Finding> gives_whole_heads(const Played& played) {
  if (!is_right(played)) return {};
  const Example& example = *played.example;
  const Ranges heads = head_shares::ranges_of(example, by_heads);
  for (int rank = 0; rank < example.ranks(); ++rank) {
    const auto log = played.outcome->outputs[rank].find(block_log::output);
    if (log == played.outcome->outputs[rank].end()) continue;
    const Index calls = log->second.extent(0);
    if (calls > heads.count(rank)) {
      return {
          {"", fmt::format("rank {} called block.accumulate {} times, and has {} query heads; each is to be "
                           "given once, beside all tokens",
                           rank, calls, heads.count(rank))}};
    }
    for (Index call = 0; call < calls; ++call) {
      const std::span<const float> row = log->second.matrix().row(call);
      if (row[0] == static_cast<float>(rank)) continue;
      return {{"", fmt::format(
                       "rank {}: block.accumulate was told that the block is rank {}'s; all tokens of its "
                       "heads are its own",
                       rank, row[0])}};
    }
  }
  return {};
}

std::string sizes_in_words(const Played& played) {
  const Example& example = *played.example;
  const Index heads = example.inputs.at(example.inputs.contains("q") ? "q" : "kept_q").extent(0);
  return fmt::format("{} query heads; {}", heads,
                     arguments_in_words(example, {"kv_heads", "shard_tokens", "causal"}));
}

Task with_block_log(Task task) {
  task.logs = {{block_log::output, block_log::columns}, {block_log::scores_output, 1}};
  task.answer_checks.push_back(gives_whole_heads);
  task.explain = sizes_in_words;
  task.communication_checks.push_back(checks::uses_memory_at_most(memory_of_heads, ""));
  task.communication_checks.push_back(checks::deadlocks(left_without_heads, "rank_without_heads_leaves"));
  return task;
}

Task forward_task() {
  Task task = grouped::forward_task("4", "ulysses_attention");
  task.examples = forward_examples;
  const auto with = [](const std::function<Answer(const Example&)>& of, bool copies) {
    return [of, copies](const Example& example) { return with_kept(example, of, copies); };
  };
  task.expected = with(task.expected, true);
  task.baseline = with(task.baseline, true);
  task.rounding = with(task.rounding, false);
  for (const char* name : {"q", "k", "v", "o"}) {
    const bool of_queries = *name == 'q' || *name == 'o';
    task.outputs.push_back({.name = std::string("kept_") + name,
                            .axes = {"head", "row", "col"},
                            .called = std::string(name) + " of the HeadShard",
                            .layout = head_shares::layout_of(of_queries ? by_heads : by_key_heads)});
  }
  task.outputs.push_back({.name = "kept_lse",
                          .axes = {"head", "row"},
                          .called = "lse of the HeadShard",
                          .layout = head_shares::layout_of(by_heads)});
  task.communication_checks = exchange_checks(exchanges_of_forward, sent_a_key_head_for_each_query_head);
  task.uses = "2";
  return with_block_log(std::move(task));
}

Task backward_task() {
  Task task = grouped::backward_task("5", "ulysses_backward");
  task.examples = backward_examples;
  const auto with = [](const std::function<Answer(const Example&)>& of) {
    return [of](const Example& example) { return of(head_shares::with_whole_heads(example)); };
  };
  task.expected = with(task.expected);
  task.baseline = with(task.baseline);
  task.rounding = with(task.rounding);
  task.split_axis = {{"d_o", 1}, {"kept_q", 0}, {"kept_k", 0}, {"kept_v", 0}, {"kept_o", 0}, {"kept_lse", 0}};
  for (const char* name : {"kept_q", "kept_o", "kept_lse"})
    task.split_layout[name] = head_shares::layout_of(by_heads);
  for (const char* name : {"kept_k", "kept_v"})
    task.split_layout[name] = head_shares::layout_of(by_key_heads);
  task.communication_checks = exchange_checks(exchanges_of_backward);
  task.communication_checks.push_back(head_shares::exchanges_by_alltoall_or_messages);
  task.uses = "3";
  return with_block_log(std::move(task));
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"17", {shares_task(), there_task(), back_task(), forward_task(), backward_task()}};
}
