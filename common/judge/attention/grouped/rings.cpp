#include "judge/attention/grouped/rings.hpp"

#include <limits>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/grouped/tasks.hpp"
#include "ring/shards.hpp"

namespace course::grouped {

namespace {

/// The adapter makes the outputs: dq, where there is one, is by far the largest of them.
std::int64_t bytes_of_dq(const Example& example) {
  if (!example.inputs.contains("d_o")) return 0;
  const Tensor& q = example.inputs.at("q");
  return q.extent(0) * largest_shard(example.layout.shard_tokens()) * q.extent(2) *
         static_cast<std::int64_t>(sizeof(float));
}

/// How many query heads share a key head.
std::int64_t group_size(const Example& example) {
  return example.inputs.at("q").extent(0) / example.inputs.at("k").extent(0);
}

}  // namespace

std::int64_t bytes_of_longest(BytesOfTokens bytes, const Example& example) {
  return bytes(example, largest_shard(example.layout.shard_tokens()));
}

CommunicationCheck sends_whole_rounds(BytesOfTokens bytes, checks::Hops hops,
                                      std::int64_t (*times)(const Example&), const char* sent_in_vain) {
  using namespace checks;
  const NeededBytes needed = [=](const Example& example, int from, int to) {
    return to == example.ahead(from) ? bytes_of_longest(bytes, example) * hops(example.ranks()) : 0;
  };
  // On two ranks a hop too many is as much as sending all twice.
  const auto sends_in_vain = [=](const Example& example, const Outcome& outcome) {
    const std::int64_t factor = times(example);
    return factor > 1 && (factor != 2 || example.ranks() > 2) &&
           whole_multiple_sent(needed, example, outcome) == factor;
  };
  return first_of(
      {sends_only_to_next(""), named_if(sends_only_what_is_needed(needed, ""), sends_in_vain, sent_in_vain)});
}

std::vector<CommunicationCheck> ring_checks(CommunicationCheck traffic, BytesOfTokens bytes, int rooms) {
  using namespace checks;
  const auto memory = [=](const Example& example) {
    return example.large ? rooms * bytes_of_longest(bytes, example) + bytes_of_dq(example)
                         : std::numeric_limits<std::int64_t>::max();
  };
  return {first_of({without_fact(fact_world, ""), sends_nothing_to_itself(""), std::move(traffic)}),
          uses_only_known_calls(),
          stays_in_its_memory(),
          completes_its_requests(""),
          frees_what_it_makes(""),
          passes_tensors_by_messages(""),
          uses_memory_at_most(memory, ""),
          tells_null_peers};
}

namespace {

Task with_blocks_looked_at(Task task) {
  return log_reading::looked_at(std::move(task), [](const Played&) -> std::string { return ""; });
}

}  // namespace

Task ring_task(std::string id, std::string function, const char* repeated) {
  Task task = forward_task(std::move(id), std::move(function));
  task.examples = ring_examples;
  task.communication_checks =
      ring_checks(sends_whole_rounds(bytes_of_tokens, checks::forward_hops, group_size, repeated),
                  bytes_of_tokens, rooms_of_forward);
  return with_blocks_looked_at(std::move(task));
}

Task ring_backward_task(std::string id, std::string function) {
  Task task = backward_task(std::move(id), std::move(function));
  task.examples = backward_ring_examples;
  task.communication_checks =
      ring_checks(sends_whole_rounds(bytes_of_tokens, checks::backward_hops, group_size, ""), bytes_of_tokens,
                  rooms_of_backward);
  return with_blocks_looked_at(std::move(task));
}

}  // namespace course::grouped
