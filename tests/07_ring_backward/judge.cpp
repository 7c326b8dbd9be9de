#include "judge/attention/ring/ring_backward.hpp"
#include "judge/task.hpp"
#include "ring/shards.hpp"

using namespace course;

namespace {

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
    Answer all{{"keys_values", Tensor64({std::ssize(shards), 1})},
               {"gradients", Tensor64({std::ssize(shards), 1})}};
    for (int rank = 0; rank < std::ssize(shards); ++rank) {
      const Sent tokens = sent(shards, rank);
      all["keys_values"][rank] = token * tokens.keys_values;
      all["gradients"][rank] = token * tokens.gradients;
    }
    return all;
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

Sent one_hop(const std::vector<int>& shards, int rank) {
  const double own = shards.size() == 1 ? 0 : shards[rank];
  return {own, own};
}

Sent one_tensor_of_two(const std::vector<int>& shards, int rank) {
  const Sent both = right(shards, rank);
  return {both.keys_values / 2, both.gradients / 2};
}

Sent numbers_for_bytes(const std::vector<int>& shards, int rank) {
  const Sent bytes = right(shards, rank);
  return {bytes.keys_values / 4, bytes.gradients / 4};
}

Sent own_block_at_every_hop(const std::vector<int>& shards, int rank) {
  const double own = shards[rank], hops = static_cast<double>(shards.size());
  return {(hops - 1) * own, hops > 1 ? hops * own : 0};
}

Sent own_block_at_every_hop_even_alone(const std::vector<int>& shards, int rank) {
  const double own = shards[rank], hops = static_cast<double>(shards.size());
  return {(hops - 1) * own, hops * own};
}

Sent sum_from_next_rank(const std::vector<int>& shards, int rank) {
  return {all_but(shards, rank, 1), all_but(shards, rank, 0)};
}

Sent every_hop_padded(const std::vector<int>& shards, int) {
  const double largest = largest_shard(shards), hops = static_cast<double>(shards.size());
  return {(hops - 1) * largest, hops > 1 ? hops * largest : 0};
}

/// The bytes of all ranks with each hop's, or each sum of all hops, in so many bits.
std::function<Answer(const Example&)> in_32_bits(bool each_hop, bool is_signed) {
  return [=](const Example& example) {
    const double hops = static_cast<double>(example.arguments.at("shards").size());
    const auto wrapped = [&](double bytes) {
      const auto low = static_cast<std::uint32_t>(static_cast<std::int64_t>(bytes));
      return is_signed ? static_cast<double>(static_cast<std::int32_t>(low)) : static_cast<double>(low);
    };
    Answer all = bytes(right)(example);
    for (const auto& [name, count] : {std::pair{"keys_values", hops - 1}, {"gradients", hops}}) {
      const double parts = each_hop ? count : 1;
      for (double& sum : all.at(name).values()) sum = sum == 0 ? 0 : parts * wrapped(sum / parts);
    }
    return all;
  };
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
  // An odd number: with a power of two the low 32 bits of all bytes would be 0.
  all.push_back(shards_example("8 shards of 524287 tokens, 32 heads of dimension 128",
                               std::vector<int>(8, 524287), 32, 128));
  return all;
}

Task traffic_task() {
  Task task{.id = "1",
            .function = "backward_traffic",
            .outputs = {{"keys_values", {"rank", ""}}, {"gradients", {"rank", ""}}},
            .examples = worlds,
            .expected = bytes(right),
            .baseline = bytes(right),
            .mistakes = {{"useless_last_hop", bytes(keys_and_values_come_home)},
                         {"one_hop_short_of_home", bytes(gradients_do_not)},
                         {"sends_to_itself_alone", bytes(to_itself_when_alone)},
                         {"wrong_block_left_out", bytes(own_block_left_out)},
                         {"wrong_block_left_out", bytes(previous_block_left_out)},
                         {"one_hop_counted", bytes(one_hop)},
                         {"one_tensor_counted", bytes(one_tensor_of_two)},
                         {"numbers_counted", bytes(numbers_for_bytes)},
                         {"own_length_at_every_hop", bytes(own_block_at_every_hop)},
                         {"own_length_at_every_hop", bytes(own_block_at_every_hop_even_alone)},
                         {"sum_from_next_rank", bytes(sum_from_next_rank)},
                         {"every_hop_padded", bytes(every_hop_padded)}}};
  // Only the large world has too many bytes, and there all hops are alike.
  for (const bool each_hop : {true, false}) {
    for (const bool is_signed : {true, false})
      task.mistakes.push_back({"overflows_32_bits", in_32_bits(each_hop, is_signed)});
  }
  return task;
}

}  // namespace

LessonJudge course::lesson_judge() {
  Task ring = ring_backward::task("2", "ring_attention_backward");
  ring.communication_checks = ring_backward::blocking_checks(ring);
  return {"07", {traffic_task(), ring}};
}
