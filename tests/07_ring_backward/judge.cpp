#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/ring_backward.hpp"
#include "judge/attention/ring_forward.hpp"
#include "judge/communication_checks.hpp"
#include "judge/diagnose.hpp"
#include "judge/task.hpp"
#include "ring/shards.hpp"

using namespace course;

namespace {

// Task 1

/// What a rank sends of tokens' worth of keys and values, and of their gradients.
struct Sent {
  double keys_values;
  double gradients;
};

/// The bytes of all ranks by a rule that counts tokens.
std::function<Answer(const Example&)> bytes(Sent (*sent)(const std::vector<int>& shards, int rank)) {
  return [sent](const Example& example) -> Answer {
    const std::vector<double>& given = example.arguments.at("shards");
    const std::vector<int> shards(given.begin(), given.end());
    const double token = 2 * 4 * example.arguments.at("heads").at(0) * example.arguments.at("head_dim").at(0);
    Tensor64 all({std::ssize(shards), 2});
    for (int rank = 0; rank < std::ssize(shards); ++rank) {
      const Sent tokens = sent(shards, rank);
      all.matrix()(rank, 0) = token * tokens.keys_values;
      all.matrix()(rank, 1) = token * tokens.gradients;
    }
    return {{"bytes", all}};
  };
}

/// The tokens of all ranks but the one `beyond` ranks to the right.
double all_but(const std::vector<int>& shards, int rank, int beyond) {
  const int world_size = static_cast<int>(shards.size());
  return total_tokens(shards) - shards[(rank + beyond + world_size) % world_size];
}

double all_of(const std::vector<int>& shards) {
  return shards.size() == 1 ? 0 : total_tokens(shards);
}

Sent right(const std::vector<int>& shards, int rank) {
  return {all_but(shards, rank, 1), all_of(shards)};
}

Sent keys_and_values_come_home(const std::vector<int>& shards, int) {
  return {all_of(shards), all_of(shards)};
}

Sent gradients_do_not(const std::vector<int>& shards, int rank) {
  return {all_but(shards, rank, 1), all_but(shards, rank, 1)};
}

Sent to_itself_when_alone(const std::vector<int>& shards, int rank) {
  return {all_but(shards, rank, 1), static_cast<double>(total_tokens(shards))};
}

Sent own_block_left_out(const std::vector<int>& shards, int rank) {
  return {all_but(shards, rank, 0), all_of(shards)};
}

Sent previous_block_left_out(const std::vector<int>& shards, int rank) {
  return {all_but(shards, rank, -1), all_of(shards)};
}

Example shards_example(std::string what, const std::vector<int>& shards, int heads, int head_dim) {
  return {std::move(what),
          {},
          {{"shards", {shards.begin(), shards.end()}},
           {"heads", {static_cast<double>(heads)}},
           {"head_dim", {static_cast<double>(head_dim)}}}};
}

std::vector<Example> worlds(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, const std::vector<int>& shards) {
    all.push_back(
        shards_example(std::move(what), shards, generator.integer(1, 16), generator.integer(1, 64)));
  };
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    add("equal shards, P = " + std::to_string(ranks), std::vector<int>(ranks, generator.integer(1, 50)));
    add("unequal shards, P = " + std::to_string(ranks), unequal_shards(generator, ranks));
  }
  std::vector<int> shards(4);
  shards[generator.integer(0, 3)] = generator.integer(1, 9);
  add("all tokens on one rank", shards);
  all.push_back(shards_example("8 shards of 524288 tokens, 32 heads of dimension 128",
                               std::vector<int>(8, 524288), 32, 128));
  return all;
}

Task traffic_task() {
  return {.id = "1",
          .function = "backward_traffic",
          .outputs = {{"bytes", {"sender", "K and V, dK and dV"}}},
          .examples = worlds,
          .expected = bytes(right),
          .baseline = bytes(right),
          .mistakes = {{"useless_last_hop", bytes(keys_and_values_come_home)},
                       {"one_hop_short_of_home", bytes(gradients_do_not)},
                       {"sends_to_itself_alone", bytes(to_itself_when_alone)},
                       {"wrong_block_left_out", bytes(own_block_left_out)},
                       {"wrong_block_left_out", bytes(previous_block_left_out)}}};
}

// Task 2: inputs

/// Every third query steep: its scores lie more than 110 apart. Next to all of its weight is on one key, its
/// own gradient cancels, and float32 keeps nothing of it; the queries between keep the sums away from zero.
QKV with_steep_queries(QKV qkv) {
  const double root_dim = std::sqrt(static_cast<double>(qkv.q.extent(2)));
  for (Index head = 0; head < qkv.q.extent(0); ++head) {
    for (Index i = 0; i < qkv.q.extent(1); i += 3) {
      const std::span<float> query = qkv.q.heads().head(head).row(i);
      double low = std::numeric_limits<double>::max();
      double high = std::numeric_limits<double>::lowest();
      for (Index j = 0; j < qkv.k.extent(1); ++j) {
        const std::span<const float> key = qkv.k.heads().head(head).row(j);
        const double score = std::inner_product(query.begin(), query.end(), key.begin(), 0.0) / root_dim;
        low = std::min(low, score);
        high = std::max(high, score);
      }
      for (float& entry : query) entry *= static_cast<float>(120 / std::max(high - low, 1e-3));
    }
  }
  return qkv;
}

std::vector<Example> examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  const auto add = [&](std::string what, const std::vector<int>& shards, QKV qkv) {
    Tensor d_o = generator.normal(qkv.q.shape());
    all.push_back(ring_backward::make_example(std::move(what), shards, std::move(qkv), std::move(d_o)));
  };
  for (Example& forward : ring_forward::on_all_kinds_of_shards(generator, ranks, 2))
    all.push_back(ring_backward::with_gradient(generator, std::move(forward)));
  std::vector<int> shards = unequal_shards(generator, ranks);
  shards[generator.integer(0, ranks - 1)] += 12;
  const int n = total_tokens(shards);
  add("queries whose scores are more than 110 apart", shards,
      with_steep_queries(random_qkv(generator, 2, n, n, 6)));
  add("scores near -150", shards, very_negative_qkv(generator, 2, n, n, 5, -150));
  add("scores near -300", shards, very_negative_qkv(generator, 2, n, n, 5, -300));
  const auto add_real = [&](std::string what, int tokens, Index every, float q_factor) {
    all.push_back(ring_backward::real_example(generator, std::move(what), even_shards(tokens, ranks),
                                              two_real_heads(generator), every, q_factor));
  };
  add_real("real q, k, v and d_o", 53, 1, 1);
  // Were all queries doubled, most of the weight would be on one key, and the gradient of a whole head
  // would cancel.
  add_real("real q, k, v and d_o with every third query doubled", 96, 3, 2);
  for (Example& large : ring_forward::with_large_blocks(generator, ranks))
    all.push_back(ring_backward::with_gradient(generator, std::move(large)));
  return all;
}

// Task 2: communication checks

std::int64_t bytes_of_a_ring(const Example& example, int) {
  return checks::bytes_of_hops(checks::backward_hops, example);
}

/// With a right answer, so that it is not the gradients that went too far.
bool made_one_hop_more(const Task& task, const Example& example, const Outcome& outcome) {
  return checks::sent_one_hop_more(checks::backward_hops, 3)(example, outcome) &&
         is_right(compare(task, example, task.expected(example), outcome));
}

/// Two more blocks with their gradients, and as much again for copies that MPI itself or a message of several
/// tensors takes.
std::int64_t memory_of_a_ring(const Example& example) {
  return checks::memory_of_blocks(example, 2 * (2 * 2 + 1));
}

bool is_alone(const Example& example, const Outcome&) {
  return example.ranks() == 1;
}

bool waits_for_itself_alone(const Example& example, const Deadlock& still) {
  return example.ranks() == 1 && still.kind == Deadlock::Kind::Cycle;
}

std::vector<CommunicationCheck> ring_checks(const Task& task) {
  using namespace checks;
  const auto one_hop_more = [task](const Example& example, const Outcome& outcome) {
    return made_one_hop_more(task, example, outcome);
  };
  std::vector<CommunicationCheck> all = blocking_ring(
      first_of({without_fact(fact_world, "world_communicator"),
                named_if(without_fact(fact_self_message, ""), is_alone, "sends_to_itself_alone"),
                named_if(sends_only_to_next(""), sent_only_to_previous, "wrong_direction"),
                named_if(sends_at_most(bytes_of_a_ring, ""), one_hop_more, "useless_last_hop"),
                log_reading::names_the_owners}),
      memory_of_a_ring);
  all.push_back(deadlocks(waits_for_itself_alone, "sends_to_itself_alone"));
  return all;
}

/// A tolerance must be far below the gradient's own norm, or zeros would pass.
constexpr double largest_tolerance = 3e-2;

Task ring_task() {
  Task made{
      .id = "2",
      .function = "ring_attention_backward",
      .outputs = {{"dq", {"head", "row", "col"}, 1},
                  {"dk", {"head", "row", "col"}, 1},
                  {"dv", {"head", "row", "col"}, 1}},
      .examples = examples,
      .expected = ring_backward::expected,
      .baseline = ring_backward::baseline,
      .cancellation_free = ring_backward::cancellation_free,
      .mistakes = ring_backward::mistakes({"dk_dv_kept_local", "own_share_only", "dk_and_dv_swapped",
                                           "overwritten_not_accumulated", "own_block_every_time",
                                           "v_left_behind", "one_block_short", "delta_left_out",
                                           "sums_not_cleared", "one_hop_short_of_home", "received_and_sent"}),
      .answer_checks = {passes_gradient_checks(ring_backward::problem), is_right_on_every_rank},
      .split_axis = {{"q", 1}, {"k", 1}, {"v", 1}, {"o", 1}, {"lse", 1}, {"d_o", 1}},
      .logs = {{block_log::output, block_log::columns}},
      .largest_tolerance = largest_tolerance,
      .mistakes_cancel = true,
      .explain = log_reading::explaining("look at where dk and dv go between them, and how they come home")};
  made.communication_checks = ring_checks(made);
  return made;
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"07", {traffic_task(), ring_task()}};
}
