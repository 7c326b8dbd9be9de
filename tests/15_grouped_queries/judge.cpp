#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/gradient_checks.hpp"
#include "judge/attention/grouped.hpp"
#include "judge/checks/communication_checks.hpp"
#include "judge/checks/traffic_checks.hpp"
#include "judge/numbers/rounding.hpp"
#include "protocol/block_log.hpp"
#include "protocol/fact_kinds.hpp"
#include "ring/shards.hpp"

using namespace course;
using grouped::Sizes;

namespace {

/// Where tensors are small, what the library takes for itself is large beside them.
constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

// Task 1

/// Every number of heads that a rule may be right for by chance is beside one for which it is wrong.
std::vector<Example> head_numbers(InputGenerator& generator, int) {
  const int group = generator.integer(2, 5), kv = generator.integer(2, 4);
  const auto add = [](const char* what, std::vector<double> heads, std::vector<double> kv_heads) {
    return Example{what, {}, {{"heads", std::move(heads)}, {"kv_heads", std::move(kv_heads)}}};
  };
  return {add("6 query heads, 2 key heads", {6}, {2}), add("6 query heads, 3 key heads", {6}, {3}),
          add("8/2, 5/1, 7/7 and 14/2 heads", {8, 5, 7, 14}, {2, 1, 7, 2}),
          add("heads of any number", {static_cast<double>(group * kv)}, {static_cast<double>(kv)}),
          add("3/2, 4/0 and 4/-2 heads, which do not fit", {3, 4, 4}, {2, 0, -2})};
}

Answer key_heads(const Example& example) {
  const std::vector<double>&heads = example.arguments.at("heads"), &kv = example.arguments.at("kv_heads");
  std::vector<double> all, refusals;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const bool fit = kv[i] >= 1 && std::fmod(heads[i], kv[i]) == 0;
    if (!fit) refusals.push_back(1);
    for (int head = 0; fit && head < heads[i]; ++head) all.push_back(std::floor(head * kv[i] / heads[i]));
  }
  const Index count = std::ssize(all), refused = std::ssize(refusals);
  return {{"kv_head", Tensor64({count}, std::move(all))},
          {"refusal", Tensor64({refused}, std::move(refusals))}};
}

Task map_task() {
  return {
      .id = "1",
      .function = "kv_heads",
      .outputs = {{.name = "kv_head", .axes = {"query head"}},
                  {.name = "refusal",
                   .axes = {"pair"},
                   .called =
                       "refusal (1: throws and names both numbers, 0: throws without, -1: does not throw)"}},
      .examples = head_numbers,
      .expected = key_heads,
      .baseline = key_heads,
      .explain = [](const Played& played) {
        return arguments_in_words(*played.example, {"heads", "kv_heads"});
      }};
}

// Blocks on one rank, tasks 2 and 3

Example in_blocks(Example example, int block) {
  example.what += ", in blocks of " + std::to_string(block);
  example.arguments["block"] = {static_cast<double>(block)};
  return example;
}

/// One head of a group scores far below all others, and its partner far above: lse is near -150 and +20.
Example apart_in_a_group(InputGenerator& generator, std::string what, const Layout& layout) {
  Example example = grouped::make_example(generator, std::move(what), layout, {4, 2, 4, 3});
  const double scale = example.arguments.at("scale").front();
  for (Index head = 0; head < 4; ++head) {
    for (Index i = 0; i < layout.tokens(); ++i) {
      example.inputs["q"].heads()(head, i, 0) = static_cast<float>((head % 2 == 0 ? -15 : 2) / scale);
      if (head < 2) example.inputs["k"].heads()(head, i, 0) = 10;
    }
  }
  return example;
}

/// The last key of one key head is `above` the others, for one query head of the group that shares it.
Example late_in_one_head(InputGenerator& generator, std::string what, const Layout& layout, float above) {
  Example example = grouped::make_example(generator, std::move(what), layout, {6, 2, 4, 4});
  const double scale = example.arguments.at("scale").front();
  const Index last = layout.tokens() - 1;
  example.inputs["k"].heads()(1, last, 0) = above;
  for (Index i = 0; i <= last; ++i) example.inputs["q"].heads()(4, i, 0) = static_cast<float>(1 / scale);
  return example;
}

/// Inputs for one rank or for a ring, by who owns what. Where one key has all the weight, gradients cancel to
/// 0: for gradients the largest score is less far above the others.
std::vector<Example> on_all_kinds_of_heads(InputGenerator& generator, const std::vector<Layout>& layouts,
                                           bool for_gradients) {
  const auto layout = [&](std::size_t i) { return layouts[i % layouts.size()]; };
  const auto add = [&](const char* what, std::size_t i, const Sizes& sizes) {
    return grouped::make_example(generator, what, layout(i), sizes);
  };
  return {add("6 query heads, 2 key heads", 0, {6, 2, 4, 4}),
          add("6 query heads, 3 key heads, values narrower than keys", 1, {6, 3, 5, 2}),
          add("8 query heads, 2 key heads, values wider than keys", 2, {8, 2, 3, 7}),
          add("5 query heads, 1 key head", 3, {5, 1, 4, 3}),
          add("7 query heads, 7 key heads", 4, {7, 7, 3, 3}),
          add("14 query heads, 2 key heads", 5, {14, 2, 2, 5}),
          apart_in_a_group(generator, "scores near -150 and +20 in one group", layout(0)),
          late_in_one_head(generator, "a maximum that comes last in one head of a group", layout(1),
                           for_gradients ? 4 : 30)};
}

Layout of_one_rank(int tokens) {
  return {std::vector<int>{tokens}};
}

std::vector<Layout> lengths(InputGenerator& generator) {
  return {of_one_rank(generator.integer(9, 14)), of_one_rank(generator.integer(7, 11)), of_one_rank(8)};
}

/// 16 query heads share the one key head of 4096 keys: K and V repeated are 32 MiB.
Example large_block(InputGenerator& generator) {
  Example example =
      grouped::make_example(generator, "4096 keys of one head", of_one_rank(4096), {16, 1, 64, 64});
  example.inputs["q"] = slice(example.inputs.at("q"), 1, 0, 2);
  example.layout = {};
  example.arguments["block"] = {4096};
  example.large = true;
  return example;
}

std::vector<Example> block_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (Example& example : on_all_kinds_of_heads(generator, lengths(generator), false))
    all.push_back(in_blocks(std::move(example), generator.integer(3, 5)));
  all.push_back(in_blocks(grouped::make_example(generator, "no keys", of_one_rank(0), {4, 2, 3, 2}), 3));
  for (Example& example : all) example.layout = {};
  all.push_back(large_block(generator));
  return all;
}

/// Queries that have seen no key of any block, though they could look at this one: they take no part.
Example with_queries_that_saw_nothing(Example example) {
  for (Index head = 0; head < example.inputs.at("q").extent(0); ++head) {
    example.inputs["lse"].matrix()(head, head % 3) = -std::numeric_limits<float>::infinity();
    std::ranges::fill(example.inputs["d_o"].heads().head(head).row(head % 3), 0.0f);
  }
  example.what += ", and queries with lse = -inf";
  return example;
}

std::vector<Example> block_backward_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (Example& forward : on_all_kinds_of_heads(generator, lengths(generator), true)) {
    Example example =
        grouped::with_gradient(generator, in_blocks(std::move(forward), generator.integer(3, 5)));
    for (const auto& [before, of] : {std::pair{"before_dq", "q"}, {"before_dk", "k"}, {"before_dv", "v"}})
      example.inputs[before] = generator.normal(example.inputs.at(of).shape(), 0.1f);
    example.layout = {};
    all.push_back(std::move(example));
  }
  all.push_back(with_queries_that_saw_nothing(all.front()));
  return all;
}

Task block_task() {
  Task task = grouped::forward_task("2", "attend_grouped");
  task.examples = block_examples;
  task.uses = "1";
  const auto four_mebibytes = [](const Example& example) {
    return example.large ? std::int64_t{4} << 20 : no_limit;
  };
  task.communication_checks = {checks::uses_memory_at_most(four_mebibytes, "")};
  return task;
}

Task block_backward_task() {
  Task task = grouped::backward_task("3", "grouped_backward");
  task.examples = block_backward_examples;
  task.uses = "1";
  return task;
}

// Rings, tasks 4 and 5

std::vector<Layout> all_kinds_of_shards(InputGenerator& generator, int ranks) {
  std::vector<int> with_an_empty_one(ranks, 5);
  if (ranks > 1) with_an_empty_one[1] = 0;
  if (ranks > 2) with_an_empty_one[2] = 4;
  return {Layout(std::vector<int>(ranks, generator.integer(3, 5))), Layout(with_an_empty_one),
          Layout(unequal_shards(generator, ranks)), Layout(std::vector<int>(ranks, 2))};
}

/// The largest of the registry's worlds.
constexpr int ranks_of_large_blocks = 8;

/// So large that memory is seen: keys by far the most of it, and a state that is small beside them.
std::vector<Example> with_large_blocks(InputGenerator& generator, int ranks) {
  if (ranks != ranks_of_large_blocks) return {};
  Example example = grouped::make_example(generator, "blocks of a quarter of a megabyte",
                                          Layout(std::vector<int>(ranks, 4)), {16, 1, 16384, 16});
  example.large = true;
  return {std::move(example)};
}

std::vector<Example> ring_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all = on_all_kinds_of_heads(generator, all_kinds_of_shards(generator, ranks), false);
  std::ranges::move(with_large_blocks(generator, ranks), std::back_inserter(all));
  return all;
}

std::vector<Example> ring_backward_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  std::vector<Example> forward =
      on_all_kinds_of_heads(generator, all_kinds_of_shards(generator, ranks), true);
  std::ranges::move(with_large_blocks(generator, ranks), std::back_inserter(forward));
  for (Example& example : forward) all.push_back(grouped::with_gradient(generator, std::move(example)));
  return all;
}

/// How many query heads share a key head.
std::int64_t group_size(const Example& example) {
  return example.inputs.at("q").extent(0) / example.inputs.at("k").extent(0);
}

std::int64_t twice(const Example&) {
  return 2;
}

/// Of the inputs of tasks 4 to 6 that travel, the bytes of a token.
using BytesOfTokens = std::int64_t (*)(const Example&, int tokens);

/// The adapter makes the outputs: dq, where there is one, is by far the largest of them.
std::int64_t bytes_of_dq(const Example& example) {
  if (!example.inputs.contains("d_o")) return 0;
  const Tensor& q = example.inputs.at("q");
  return q.extent(0) * largest_shard(example.layout.shard_tokens()) * q.extent(2) *
         static_cast<std::int64_t>(sizeof(float));
}

/// What every ring of this lesson is held to: so many hops of one block, each as long as the longest shard,
/// and memory for so many blocks.
/// @param times how many times too much the mistake `sent_in_vain` sends
std::vector<CommunicationCheck> ring_checks(BytesOfTokens bytes, checks::Hops hops, int rooms,
                                            std::int64_t (*times)(const Example&), const char* sent_in_vain) {
  using namespace checks;
  const auto longest = [bytes](const Example& example) {
    return bytes(example, largest_shard(example.layout.shard_tokens()));
  };
  const NeededBytes needed = [=](const Example& example, int from, int to) {
    return to == example.ahead(from) ? longest(example) * hops(example.ranks()) : 0;
  };
  // On two ranks a hop too many is as much as sending all twice.
  const auto sends_in_vain = [=](const Example& example, const Outcome& outcome) {
    const std::int64_t factor = times(example);
    return factor > 1 && (factor != 2 || example.ranks() > 2) &&
           whole_multiple_sent(needed, example, outcome) == factor;
  };
  const auto memory = [=](const Example& example) {
    return example.large ? rooms * longest(example) + bytes_of_dq(example) : no_limit;
  };
  return {first_of({without_fact(fact_world, ""), sends_nothing_to_itself(""), sends_only_to_next(""),
                    named_if(sends_only_what_is_needed(needed, ""), sends_in_vain, sent_in_vain)}),
          uses_only_known_calls(),
          stays_in_its_memory(),
          completes_its_requests(""),
          frees_what_it_makes(""),
          passes_tensors_by_messages(""),
          uses_memory_at_most(memory, ""),
          tells_null_peers};
}

/// The blocks that a ring gives to accumulate are looked at: whose they are, and how often.
Task with_blocks_looked_at(Task task) {
  task.logs = {{block_log::output, block_log::columns}};
  task.communication_checks.push_back(log_reading::names_the_owners);
  task.answer_checks.push_back(log_reading::gives_each_block_once);
  task.explain = log_reading::explaining([](const Played&) -> std::string { return ""; });
  return task;
}

Task ring_task() {
  Task task = grouped::forward_task("4", "grouped_ring_attention");
  task.examples = ring_examples;
  task.communication_checks = ring_checks(grouped::bytes_of_tokens, checks::forward_hops, 2 * (2 + 1),
                                          group_size, "repeated_before_ring");
  return with_blocks_looked_at(std::move(task));
}

Task ring_backward_task() {
  Task task = grouped::backward_task("5", "grouped_ring_backward");
  task.examples = ring_backward_examples;
  task.communication_checks =
      ring_checks(grouped::bytes_of_tokens, checks::backward_hops, 2 * (2 * 2 + 1), group_size, "");
  return with_blocks_looked_at(std::move(task));
}

// One latent for all heads, tasks 6 and 7

struct LatentSizes {
  Index heads, nope_dim, rope_dim, latent_dim, value_dim;
};

Example latent_example(InputGenerator& generator, std::string what, const Layout& layout,
                       const LatentSizes& x) {
  const Index n = layout.tokens();
  const float key_size = 1 / std::sqrt(static_cast<float>(x.latent_dim));
  const std::vector<int> tokens = layout.shard_tokens();
  return {std::move(what),
          {{"q_nope", generator.normal({x.heads, n, x.nope_dim})},
           {"q_rope", generator.normal({x.heads, n, x.rope_dim})},
           {"latent", generator.normal({1, n, x.latent_dim + x.rope_dim}, 1.5f)},
           {"key_up", generator.normal({x.heads, x.nope_dim, x.latent_dim}, key_size)},
           {"value_up", generator.normal({x.heads, x.value_dim, x.latent_dim}, key_size)}},
          {{"shard_tokens", {tokens.begin(), tokens.end()}}},
          layout};
}

/// Keys and values as each head has them: not absorbed.
template <class T>
struct Expanded {
  TensorOf<T> q, k, v;

  explicit Expanded(const Example& example) {
    const TensorOf<T> q_nope = input<T>(example, "q_nope"), q_rope = input<T>(example, "q_rope"),
                      latent = input<T>(example, "latent"), key_up = input<T>(example, "key_up"),
                      value_up = input<T>(example, "value_up");
    const Index heads = q_nope.extent(0), n = q_nope.extent(1), nope = q_nope.extent(2),
                rope = q_rope.extent(2), width = value_up.extent(1), latent_dim = key_up.extent(2);
    q = concatenate<T>({q_nope, q_rope}, 2);
    k = TensorOf<T>({heads, n, nope + rope});
    v = TensorOf<T>({heads, n, width});
    const auto product = [&](const TensorOf<T>& up, Index head, Index row, Index token) {
      T sum = 0;
      for (Index c = 0; c < latent_dim; ++c) sum += up.heads()(head, row, c) * latent.heads()(0, token, c);
      return sum;
    };
    for (Index head = 0; head < heads; ++head) {
      for (Index token = 0; token < n; ++token) {
        for (Index c = 0; c < nope; ++c) k.heads()(head, token, c) = product(key_up, head, c, token);
        for (Index c = 0; c < rope; ++c)
          k.heads()(head, token, nope + c) = latent.heads()(0, token, latent_dim + c);
        for (Index c = 0; c < width; ++c) v.heads()(head, token, c) = product(value_up, head, c, token);
      }
    }
  }
};

template <class T>
Answer latent_answer(const Example& example) {
  const Expanded<T> x(example);
  const auto whole = reference::attention(x.q, x.k, x.v);
  return {{"o", cast<double>(whole.o)}, {"lse", cast<double>(whole.lse)}};
}

/// Three products round beside attention itself: two before the scores, and one behind the output. That all
/// together round off less than four times what attention does is not derived.
Answer latent_rounding(const Example& example) {
  const Expanded<double> x(example);
  Answer rounded = rounding::attention(x.q, x.k, x.v, example.ranks());
  for (auto& [name, deviation] : rounded)
    for (double& number : deviation.values()) number *= 4;
  return rounded;
}

std::vector<Example> latent_examples(InputGenerator& generator, int ranks) {
  const std::vector<Layout> shards = all_kinds_of_shards(generator, ranks);
  std::vector<Example> all{
      latent_example(generator, "a latent wider than a head", shards[0], {4, 3, 2, 8, 5}),
      latent_example(generator, "a latent narrower than a head", shards[1], {3, 6, 2, 4, 3}),
      latent_example(generator, "no rotary part", shards[2], {2, 4, 0, 6, 4}),
      latent_example(generator, "a large rotary part", shards[3], {3, 2, 7, 5, 2})};
  if (ranks == ranks_of_large_blocks) {
    all.push_back(latent_example(generator, "latents of a quarter of a megabyte",
                                 Layout(std::vector<int>(ranks, 4)), {1, 2, 2, 16382, 2}));
    all.back().large = true;
  }
  return all;
}

/// The absorbed queries, the state and the output before value_up are as long as a block each; one block is
/// held, and the library copies one: twice that.
constexpr int rooms_of_latents = 2 * (3 + 1 + 1);

std::int64_t bytes_of_latents(const Example& example, int tokens) {
  return example.inputs.at("latent").extent(2) * tokens * static_cast<std::int64_t>(sizeof(float));
}

Task latent_task() {
  return {.id = "6",
          .function = "latent_ring_attention",
          .outputs = {{"o", {"head", "row", "col"}, 1}, {"lse", {"head", "row"}, 1}},
          .examples = latent_examples,
          .expected = latent_answer<double>,
          .baseline = latent_answer<float>,
          .rounding = latent_rounding,
          .communication_checks = ring_checks(bytes_of_latents, checks::forward_hops, rooms_of_latents, twice,
                                              "latent_sent_twice"),
          .split_axis = {{"q_nope", 1}, {"q_rope", 1}, {"latent", 1}}};
}

/// The latent's first columns as values.
Example as_grouped(const Example& example) {
  Example grouped = example;
  grouped.worked = nullptr;
  const Tensor& latent = example.inputs.at("latent");
  grouped.inputs["k"] = latent;
  grouped.inputs["v"] = slice(latent, 2, 0, example.inputs.at("d_o").extent(2));
  return grouped;
}

/// dk, and in its first columns dv as well.
Tensor64 with_values(Tensor64 dk, const Tensor64& dv) {
  for (Index j = 0; j < dk.extent(1); ++j) {
    for (Index c = 0; c < dv.extent(2); ++c) dk.heads()(0, j, c) += dv.heads()(0, j, c);
  }
  return dk;
}

template <class Gradients>
Answer latent_gradients(const Example& example, const Gradients& gradients) {
  const Answer all = gradients(as_grouped(example));
  Tensor64 d_latent = with_values(all.at("dk"), all.at("dv"));
  return {{"dq", all.at("dq")}, {"d_latent", std::move(d_latent)}};
}

std::vector<Example> latent_backward_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](const char* what, Index heads, Index latent_dim, Index rope_dim) {
    Example example = grouped::make_example(generator, what, of_one_rank(generator.integer(6, 9)),
                                            {heads, 1, latent_dim + rope_dim, latent_dim});
    example.inputs["latent"] = example.inputs.at("k");
    example.inputs["v"] = slice(example.inputs.at("k"), 2, 0, latent_dim);
    example = grouped::with_gradient(generator, std::move(example));
    for (const auto& [before, of] : {std::pair{"before_dq", "q"}, {"before_d_latent", "latent"}})
      example.inputs[before] = generator.normal(example.inputs.at(of).shape(), 0.1f);
    for (const char* only_of_grouped : {"k", "v"}) example.inputs.erase(only_of_grouped);
    example.layout = {};
    all.push_back(std::move(example));
  };
  add("a rotary part", 4, 5, 3);
  add("no rotary part", 3, 6, 0);
  add("a large rotary part", 2, 2, 6);
  add("one head", 1, 4, 2);
  return all;
}

Task latent_backward_task() {
  const Task of_groups = grouped::backward_task("", "");
  const auto added_to_before = [](const std::function<Answer(const Example&)>& gradients) {
    return [gradients](const Example& example) {
      Answer answer = latent_gradients(example, gradients);
      const auto before = example.inputs.find("before_d_latent");
      for (Index i = 0; i < answer["d_latent"].size(); ++i) answer["d_latent"][i] += before->second[i];
      return answer;
    };
  };
  return {.id = "7",
          .function = "latent_block_backward",
          .outputs = {{"dq", {"head", "row", "col"}, 1}, {"d_latent", {"head", "row", "col"}, 1}},
          .examples = latent_backward_examples,
          .expected = added_to_before(of_groups.expected),
          .baseline = added_to_before(of_groups.baseline),
          .rounding = [gradients = of_groups.rounding](
                          const Example& example) { return latent_gradients(example, gradients); },
          .largest_tolerance = largest_gradient_tolerance,
          .mistakes_cancel = true};
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"15",
          {map_task(), block_task(), block_backward_task(), ring_task(), ring_backward_task(), latent_task(),
           latent_backward_task()}};
}
