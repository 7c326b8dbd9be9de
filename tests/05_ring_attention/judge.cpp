#include <algorithm>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/ring_forward.hpp"
#include "judge/communication_checks.hpp"
#include "judge/task.hpp"
#include "ring/shards.hpp"

using namespace course;

namespace {

// Task 1

/// owner(rank, hop) over all ranks and hops of a world.
std::function<Answer(const Example&)> owners(int (*owner)(int rank, int hop, int world_size)) {
  return [owner](const Example& example) -> Answer {
    const int world_size = static_cast<int>(example.arguments.at("world_size").at(0));
    Tensor64 all({world_size, world_size});
    for (int rank = 0; rank < world_size; ++rank) {
      for (int hop = 0; hop < world_size; ++hop) all.matrix()(rank, hop) = owner(rank, hop, world_size);
    }
    return {{"owner", all}};
  };
}

int after_the_sign_of_cpp(int rank, int hop, int world_size) {
  return (rank - hop) % world_size;
}

int forward(int rank, int hop, int world_size) {
  return (rank + hop) % world_size;
}

std::vector<Example> worlds(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const int world_size : {1, 2, 3, 4, 5, 8, generator.integer(9, 40)}) {
    all.push_back({"a world of " + std::to_string(world_size),
                   {},
                   {{"world_size", {static_cast<double>(world_size)}}}});
  }
  return all;
}

Task block_owner_task() {
  return {.id = "1",
          .function = "block_owner",
          .outputs = {{"owner", {"holder", "hop"}}},
          .examples = worlds,
          .expected = owners(log_reading::holder),
          .baseline = owners(log_reading::holder),
          .mistakes = {{"negative_modulo", owners(after_the_sign_of_cpp)}, {"owner_off", owners(forward)}}};
}

// Task 2: inputs

std::vector<Example> examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all = ring_forward::on_all_kinds_of_shards(generator, ranks, 1);
  const auto add = [&](std::string what, const std::vector<int>& shards, QKV qkv) {
    all.push_back(ring_forward::make_example(std::move(what), shards, std::move(qkv)));
  };
  const auto real = [&](int tokens, float q_factor) {
    const std::vector<Index> heads{generator.integer(0, 3), generator.integer(4, 7),
                                   generator.integer(8, 11)};
    return minilm_qkv(generator.integer(0, 512 - tokens), tokens, heads, q_factor);
  };
  const std::vector<int> shards = unequal_shards(generator, ranks);
  const int n = total_tokens(shards);
  add("a row maximum that comes last", shards, late_maximum_qkv(generator, 3, n, n, 8));
  add("scores more than 110 apart", shards, wide_scores_qkv(generator, 2, n, n, 6));
  add("scores near -150", shards, very_negative_qkv(generator, 2, n, n, 5, -150));
  add("scores near -2e4", shards, very_negative_qkv(generator, 2, n, n, 5, -2e4));
  add("real queries, keys and values", even_shards(29, ranks), real(29, 1));
  add("real keys and values with the queries doubled", shards, real(n, 2));
  std::ranges::move(ring_forward::with_large_blocks(generator, ranks), std::back_inserter(all));
  return all;
}

// Task 2: communication checks

std::int64_t bytes_of_a_ring(const Example& example, int) {
  return checks::bytes_of_hops(checks::forward_hops, example);
}

std::vector<CommunicationCheck> ring_checks() {
  using namespace checks;
  const Recognises one_hop_more = sent_one_hop_more(forward_hops, 4);
  return blocking_ring(
      first_of({without_fact(fact_world, "world_communicator"),
                named_if(sends_only_to_next(""), sent_only_to_previous, "wrong_direction"),
                named_if(sends_at_most(bytes_of_a_ring, ""), one_hop_more, "useless_last_hop"),
                log_reading::names_the_owners}),
      ring_forward::memory_limit);
}

std::vector<Mistake> known_mistakes() {
  std::vector<Mistake> all = ring_forward::mistakes_of_moving();
  std::ranges::move(ring_forward::mistakes_of_one_buffer(), std::back_inserter(all));
  return all;
}

Task ring_attention_task() {
  return {.id = "2",
          .function = "ring_attention",
          .outputs = {{"o", {"head", "row", "col"}, 1}, {"lse", {"head", "row"}, 1}},
          .examples = examples,
          .expected = attention_answer<double>,
          .baseline = attention_answer<float>,
          .exponents = {{"o", largest_score}},
          .mistakes = known_mistakes(),
          .communication_checks = ring_checks(),
          .split_axis = {{"q", 1}, {"k", 1}, {"v", 1}},
          .logs = {{block_log::output, block_log::columns}},
          .explain =
              log_reading::explaining("look at the state between them, and at o and lse after block.finish")};
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"05", {block_owner_task(), ring_attention_task()}};
}
