#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "judge/attention/exchange/examples.hpp"
#include "judge/attention/exchange/tasks.hpp"
#include "judge/attention/exchange/traffic.hpp"
#include "judge/attention/forward.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "protocol/block_log.hpp"

namespace course::exchange {

namespace {

using AnswerOf = std::function<Answer(const Example&)>;

/// What the forward pass keeps, beside what it returns.
Answer with_kept(const Example& example, const AnswerOf& forward, bool copies_of_inputs) {
  Answer answer = forward(example);
  const Ranges queries = ranges_of(example, by_heads), keys = ranges_of(example, by_key_heads);
  for (const char* name : {"o", "lse"})
    answer[std::string("kept_") + name] = gathered(answer.at(name), queries);
  for (const char* name : {"q", "k", "v"}) {
    Tensor64 kept = gathered(input(example, name), *name == 'q' ? queries : keys);
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
    most = std::max(most, bytes_held(example, forward_exchanges(kept.extent(2)), rank));
  return 4 * most;
}

/// k and v go to every rank as if each query head had a key head of its own.
bool sent_a_key_head_for_each_query_head(const Example& example, const Outcome& outcome) {
  std::vector<Exchange> copied = exchanges_of_forward(example);
  for (Exchange& exchange : copied) exchange.ranges = by_heads;
  for (int from = 0; from < example.ranks(); ++from) {
    for (const auto& [to, sent] : bytes_by_peer(outcome.reports.at(from).traffic)) {
      if (to != from && sent != bytes(example, copied, from, to)) return false;
    }
  }
  return true;
}

/// A rank with a right answer called the block computation more often than it has query heads, or named
/// another owner.
std::vector<Finding> gives_whole_heads(const Played& played) {
  if (!is_right(played)) return {};
  const Example& example = *played.example;
  const Ranges heads = ranges_of(example, by_heads);
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

std::string heads_in_words(const Played& played) {
  const Example& example = *played.example;
  const Index heads = example.inputs.at(example.inputs.contains("q") ? "q" : "kept_q").extent(0);
  return fmt::format("{} query heads; {}", heads,
                     arguments_in_words(example, {"kv_heads", "shard_tokens", "causal"}));
}

Task of_whole_heads(Task task, std::vector<CommunicationCheck> checks) {
  task.logs = {{block_log::output, block_log::columns}, {block_log::scores_output, 1}};
  task.answer_checks.push_back(gives_whole_heads);
  task.explain = heads_in_words;
  task.communication_checks = std::move(checks);
  task.communication_checks.push_back(checks::uses_memory_at_most(memory_of_heads, ""));
  task.communication_checks.push_back(checks::deadlocks(left_without_heads, "rank_without_heads_leaves"));
  return task;
}

/// What the forward pass keeps for the backward pass.
struct Kept {
  std::string name;
  const char* ranges;
  std::vector<std::string> axes;

  std::string of_example() const { return "kept_" + name; }
};

const std::vector<Kept> all_kept{{"q", by_heads, {"head", "row", "col"}},
                                 {"k", by_key_heads, {"head", "row", "col"}},
                                 {"v", by_key_heads, {"head", "row", "col"}},
                                 {"o", by_heads, {"head", "row", "col"}},
                                 {"lse", by_heads, {"head", "row"}}};

}  // namespace

Task forward_task(std::string id, std::string function, const std::string& kept) {
  Task task = grouped::forward_task(std::move(id), std::move(function));
  task.examples = forward_examples;
  const auto with = [](const AnswerOf& of, bool copies) -> AnswerOf {
    return [of, copies](const Example& example) { return with_kept(example, of, copies); };
  };
  task.expected = with(task.expected, true);
  task.baseline = with(task.baseline, true);
  task.rounding = with(task.rounding, false);
  for (const Kept& one : all_kept) {
    task.outputs.push_back({.name = one.of_example(),
                            .axes = one.axes,
                            .called = one.name + " of the " + kept,
                            .layout = layout_of(one.ranges)});
  }
  return of_whole_heads(std::move(task), exchange_checks(padded_parts(exchanges_of_forward),
                                                         sent_a_key_head_for_each_query_head));
}

Task backward_task(std::string id, std::string function) {
  Task task = grouped::backward_task(std::move(id), std::move(function));
  task.examples = backward_examples;
  for (AnswerOf Task::*of : {&Task::expected, &Task::baseline, &Task::rounding}) {
    task.*of = [whole = task.*of](const Example& example) { return whole(with_whole_heads(example)); };
  }
  task.split_axis = {{"d_o", 1}};
  for (const Kept& one : all_kept) {
    task.split_axis[one.of_example()] = 0;
    task.split_layout[one.of_example()] = layout_of(one.ranges);
  }
  std::vector<CommunicationCheck> checks = exchange_checks(padded_parts(exchanges_of_backward));
  checks.push_back(exchanges_by_alltoall_or_messages);
  return of_whole_heads(std::move(task), std::move(checks));
}

}  // namespace course::exchange
