#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "judge/attention/block/block_backward.hpp"
#include "judge/attention/block/block_forward.hpp"
#include "judge/attention/forward.hpp"
#include "judge/checks/communication_checks.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "judge/numbers/rounding.hpp"
#include "judge/refusal.hpp"

using namespace course;

namespace {

/// The widest machine's lanes: inputs are the same on all.
constexpr Index most_lanes = 16;

// Task 1

constexpr double lowest = -125;

Tensor every_step(double first, double last, double step) {
  std::vector<float> numbers;
  for (double x = first; x <= last; x += step) numbers.push_back(static_cast<float>(x));
  while (numbers.size() % most_lanes != 0) numbers.push_back(0.0f);
  const Index count = std::ssize(numbers);
  return {{count}, std::move(numbers)};
}

std::vector<Example> exponents(InputGenerator& generator, int) {
  const auto of = [](std::vector<float> numbers) {
    numbers.resize(most_lanes, -1.0f);
    return Tensor({most_lanes}, std::move(numbers));
  };
  Tensor drawn({8 * most_lanes});
  for (float& x : drawn.values()) x = static_cast<float>(generator.uniform(-30, 0));
  std::vector<Example> all;
  const auto add = [&](const char* what, Tensor x) { all.push_back({what, {{"x", std::move(x)}}}); };
  add("whole numbers and halves", every_step(-40, 0, 0.5));
  add("numbers from -30 to 0", std::move(drawn));
  add("0 and -0", of({0.0f, -0.0f, -1e-30f, -1e-7f}));
  add("numbers near -125", of({-124.0f, -124.5f, -124.9999f, -125.0f}));
  add("every 64th from -125 to 0", every_step(-124.984375, 0, 1.0 / 64));
  return all;
}

/// Numbers below -125, of which anything next to nothing may be made.
Example far_below(InputGenerator&) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> numbers{-125.5f, -126.0f, -126.5f, -149.0f, -150.0f, -1000.0f, -1e30f, -infinity};
  numbers.resize(most_lanes, -2.0f);
  return {"numbers below -125, and -inf", {{"x", Tensor({most_lanes}, std::move(numbers))}}};
}

std::vector<Example> all_exponents(InputGenerator& generator, int ranks) {
  std::vector<Example> all = exponents(generator, ranks);
  all.push_back(far_below(generator));
  all.push_back(refusal::refusing({"17 numbers", {{"x", Tensor({17}, -1.0f)}}}, {17}));
  return all;
}

Answer powers(const Example& example) {
  Tensor64 y = input(example, "x");
  for (double& x : y.values()) x = x < lowest ? 0 : std::exp2(x);
  return {{"y", std::move(y)}};
}

/// A relative error of 3e-7 is said; the comparison takes six deviations, of all numbers together.
Answer powers_rounded(const Example& example) {
  Answer answer = powers(example);
  for (double& y : answer["y"].values()) y = std::max(y * 1e-7, 1e-38);
  return answer;
}

/// What the comparison of norms cannot see: each number by itself.
std::vector<Finding> is_near_everywhere(const Played& played) {
  if (refusal::is_refused(*played.example)) return {};
  const Tensor& x = played.example->inputs.at("x");
  const Tensor64 &y = played.answer.at("y"), &right = played.expected.at("y");
  for (Index i = 0; i < y.size(); ++i) {
    const bool far = x[i] < lowest;
    const bool subnormal = y[i] != 0 && std::abs(y[i]) < std::numeric_limits<float>::min();
    if (far ? y[i] >= 0 && y[i] <= 2.4e-38 && !subnormal : std::abs(y[i] - right[i]) <= 3e-7 * right[i])
      continue;
    return {{"", fmt::format("y[{}] of x = {} is {}, {}", i, x[i], y[i],
                             far ? "expected from 0 to 2.4e-38, and not subnormal"
                                 : fmt::format("more than 3e-7 from {}", right[i]))}};
  }
  return {};
}

Task powers_task() {
  return refusal::with_refusals({.id = "1",
                                 .function = "powers_of_two",
                                 .outputs = {{"y", {"number"}}},
                                 .examples = all_exponents,
                                 .expected = powers,
                                 .baseline = powers,
                                 .rounding = powers_rounded,
                                 .answer_checks = {is_near_everywhere}});
}

// Task 2

std::vector<Example> tiles(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const auto& [vectors, keys, d] : {std::array<Index, 3>{3, 17, 32},
                                         {1, 8, 5},
                                         {2, 33, 64},
                                         {4, 7, 12},
                                         {3, 1, 1},
                                         {3, 0, 8},
                                         {2, 9, 0}}) {
    const Index queries = most_lanes * vectors;
    all.push_back({fmt::format("{} keys, d = {}, {} vectors", keys, d, vectors),
                   {{"k", generator.normal({keys, d})},
                    {"qt", generator.normal({d, queries})},
                    {"start", generator.normal({queries}, 3)}},
                   {{"vectors", {static_cast<double>(vectors)}}}});
  }
  all.push_back(refusal::refusing(
      {"7 queries", {{"k", Tensor({4, 4}, 1.0f)}, {"qt", Tensor({4, 7}, 1.0f)}, {"start", Tensor({7})}}},
      {7}));
  return all;
}

template <class T>
Answer scores(const Example& example) {
  const TensorOf<T> k = input<T>(example, "k"), qt = input<T>(example, "qt"),
                    start = input<T>(example, "start");
  TensorOf<T> s({k.extent(0), qt.extent(1)});
  for (Index j = 0; j < k.extent(0); ++j) {
    for (Index i = 0; i < qt.extent(1); ++i) {
      T sum = start[i];
      for (Index c = 0; c < k.extent(1); ++c) sum += k.matrix()(j, c) * qt.matrix()(c, i);
      s.matrix()(j, i) = sum;
    }
  }
  return {{"s", cast<double>(s)}};
}

Answer scores_rounded(const Example& example) {
  const Tensor64 k = input(example, "k"), qt = input(example, "qt"), start = input(example, "start");
  Tensor64 off({k.extent(0), qt.extent(1)});
  for (Index j = 0; j < k.extent(0); ++j) {
    for (Index i = 0; i < qt.extent(1); ++i) {
      double sum = start[i], squares = start[i] * start[i];
      for (Index c = 0; c < k.extent(1); ++c) {
        const double term = k.matrix()(j, c) * qt.matrix()(c, i);
        sum += term;
        squares += term * term;
      }
      off.matrix()(j, i) = std::sqrt(rounding::of_sum(k.extent(1) + 1, squares, sum));
    }
  }
  return {{"s", std::move(off)}};
}

Task tile_task() {
  return refusal::with_refusals({.id = "2",
                                 .function = "score_tile",
                                 .outputs = {{"s", {"key", "query"}}},
                                 .examples = tiles,
                                 .expected = scores<double>,
                                 .baseline = scores<float>,
                                 .rounding = scores_rounded});
}

// Tasks 3 and 4: what outcomes name, no family does

Task of_outcomes(Task task) {
  task.mistakes.clear();
  task.of_family = false;
  task.words.clear();
  return task;
}

struct Input {
  std::string what;
  QKV qkv;
  bool one_weight = false;  ///< of each row all weight is on one key: gradients cancel to 0
};

/// Lengths that no tile divides, and widths that no vector does.
std::vector<Input> inputs(InputGenerator& generator) {
  std::vector<Input> all;
  for (const auto& [queries, keys, d] : {std::array<Index, 3>{1, 1, 4},
                                         {15, 127, 12},
                                         {17, 129, 20},
                                         {47, 40, 32},
                                         {49, 135, 64},
                                         {33, 8, 100},
                                         {5, 9, 256},
                                         {0, 7, 8},
                                         {7, 0, 8}})
    all.push_back({fmt::format("{} queries, {} keys, d = {}", queries, keys, d),
                   random_qkv(generator, 1, queries, keys, d), keys == 1});
  all.push_back({"a row maximum that comes last", late_maximum_qkv(generator, 2, 35, 150, 16)});
  all.push_back({"scores more than 110 apart", wide_scores_qkv(generator, 1, 40, 70, 8), true});
  all.push_back({"scores near -150", very_negative_qkv(generator, 1, 20, 60, 16, -150)});
  all.push_back({"real queries, keys and values", minilm_qkv(generator.integer(0, 400), 60, {3})});
  return all;
}

std::vector<Example> forward_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (auto& [what, qkv, one_weight] : inputs(generator)) {
    const Index keys = qkv.k.extent(1);
    // Of 135 keys all in one call, which are more than a function cuts into blocks by itself.
    const Index block = keys == 135 ? keys : std::max<Index>(1, keys * 2 / 3);
    all.push_back(block_forward::make_example(what, std::move(qkv), block));
  }
  for (const int d : {6, 260}) {
    all.push_back(refusal::refusing(
        block_forward::make_example(fmt::format("d = {}", d), random_qkv(generator, 1, 5, 9, d), 9),
        {1.0 * d}));
  }
  all.push_back(block_forward::make_example("keys far below one with values as much larger, and scores of 86",
                                            large_values_qkv(generator, 20, 16), 5));
  all.back().less_telling = all.back().far_out = true;
  all.push_back(
      block_forward::make_example("scores near -2e4", very_negative_qkv(generator, 1, 20, 60, 16, -2e4), 25));
  return all;
}

std::vector<Example> backward_examples(InputGenerator& generator, int) {
  using namespace block_backward;
  std::vector<Example> all;
  for (auto& [what, qkv, one_weight] : inputs(generator)) {
    const Index keys = qkv.k.extent(1), queries = qkv.q.extent(1);
    if (one_weight) continue;
    const Blocks blocks{.block = std::max<Index>(1, keys * 2 / 3),
                        .query_block = std::max<Index>(1, queries)};
    all.push_back(drawn_example(generator, what, qkv, LseGradient::Drawn, blocks));
    if (queries > 20 && keys > 20)
      all.push_back(drawn_example(generator, what + ", causal", std::move(qkv), LseGradient::Zero,
                                  blocks.with_offset(keys / 4)));
  }
  all.push_back(large_values_example(generator, 16));
  const Blocks falling{.block = 64, .query_block = 60};
  for (const Index offset : {70, 40}) {
    const std::string what = "queries that see a key less than the one before";
    all.push_back(drawn_example(generator, offset < 60 ? what + ", the last of them none" : what,
                                random_qkv(generator, 1, 60, 90, 16), LseGradient::Zero,
                                falling.with_offset(offset, -1)));
  }
  return all;
}

/// All of whose scores are two megabytes.
QKV many_keys(InputGenerator& generator) {
  return random_qkv(generator, 1, 64, 8192, 4);
}

/// A tile of scores is less; where they are few, nothing is held.
std::int64_t half_a_megabyte(const Example& example) {
  return example.large ? 1 << 19 : std::numeric_limits<std::int64_t>::max();
}

Task forward_task() {
  Task task = of_outcomes(block_forward::task("3", "attend_block"));
  task.examples = [](InputGenerator& generator, int ranks) {
    std::vector<Example> all = forward_examples(generator, ranks);
    all.push_back(block_forward::make_example("8192 keys", many_keys(generator), 8192));
    all.back().large = true;
    return all;
  };
  task.communication_checks = {checks::uses_memory_at_most(half_a_megabyte, "")};
  return refusal::with_refusals(std::move(task));
}

Task backward_task() {
  Task task = of_outcomes(block_backward::block_task("4", "block_backward"));
  task.examples = [](InputGenerator& generator, int ranks) {
    std::vector<Example> all = backward_examples(generator, ranks);
    const block_backward::Blocks whole{.block = 8192, .query_block = 64};
    all.push_back(block_backward::drawn_example(generator, "8192 keys", many_keys(generator),
                                                block_backward::LseGradient::Zero, whole));
    all.back().large = true;
    return all;
  };
  task.communication_checks = {checks::uses_memory_at_most(half_a_megabyte, "")};
  return task;
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"20", {powers_task(), tile_task(), forward_task(), backward_task()}};
}
