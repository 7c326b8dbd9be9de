#include "judge/attention/sinks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/attention/forward.hpp"
#include "judge/attention/grouped/grouped.hpp"
#include "judge/exact_task.hpp"
#include "judge/numbers/rounding.hpp"
#include "reference/score_bias.hpp"

namespace course::sinks {

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

std::vector<Example> counts_of_heads(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, std::vector<double> heads) {
    all.push_back({std::move(what), {}, {{"heads", std::move(heads)}}});
  };
  add("8 heads", {8});
  add("3 heads", {3});
  add("12 heads", {12});
  add("1, 2, 16 and 64 heads", {1, 2, 16, 64});
  add("6, 5, 7 and 40 heads", {6, 5, 7, 40});
  add("any number of heads", {double(generator.integer(9, 127)), double(generator.integer(3, 60))});
  return all;
}

template <class Of>
Answer of_slopes(const Example& example, Of of) {
  std::vector<double> all;
  for (const double heads : example.arguments.at("heads"))
    for (const double slope : reference::alibi_slopes(static_cast<Index>(heads))) all.push_back(of(slope));
  const Index count = std::ssize(all);
  return {{"slopes", Tensor64({count}, std::move(all))}};
}

/// A state that has seen keys with scores near `level`, in every other query near `other`, since what is
/// left of o beside a sink of 100 is less than float32 holds; in every third query none, with any m.
Example state_example(InputGenerator& generator, std::string what, std::vector<float> sinks, float level,
                      float other) {
  const Index heads = std::ssize(sinks), queries = 7, width = 4;
  Example example{std::move(what),
                  {{"m", generator.normal({heads, queries})},
                   {"l", Tensor({heads, queries})},
                   {"o", generator.normal({heads, queries, width})},
                   {"sinks", Tensor({heads}, std::move(sinks))}}};
  Tensor &m = example.inputs["m"], &l = example.inputs["l"], &o = example.inputs["o"];
  for (Index row = 0; row < m.size(); ++row) {
    m[row] += row % 2 == 0 ? level : other;
    l[row] = static_cast<float>(generator.uniform(1, 9));
    if (row % 3 == 1) {
      l[row] = 0;
      m[row] =
          row % 2 == 0 ? -std::numeric_limits<float>::infinity() : 200.0f * static_cast<float>(row % 5 - 2);
      std::fill_n(o.data() + row * width, width, 0.0f);
    }
    for (Index i = row * width; i < (row + 1) * width; ++i) o[i] *= l[row];
  }
  return example;
}

/// Keys that score far below the sink, with values as much larger: their weight is small, and counts.
Example outweighed_state(InputGenerator& generator) {
  constexpr float below = -40, other = -22;
  Example example = state_example(generator, "scores far below the sinks, with values as much larger",
                                  {0.5f, -1}, below, other);
  Tensor& o = example.inputs["o"];
  const Index width = o.extent(2);
  for (Index i = 0; i < o.size(); ++i) o[i] *= std::exp(i / width % 2 == 0 ? -below : -other);
  return example;
}

std::vector<Example> states(InputGenerator& generator, int) {
  return {
      state_example(generator, "sinks beside the scores", {0.5f, -1.5f, 2}, 0, 0),
      state_example(generator, "sinks far below the scores", {-20, -60, -150}, 0, 0),
      state_example(generator, "a sink of 100", {100, 0.5f}, 0, 98),
      state_example(generator, "scores near -150 and 0", {0.5f, -150}, -150, 0),
      state_example(generator, "scores near 150", {0.5f, 152}, 150, 150),
      state_example(generator, "scores and sinks near 87", {87, 86.5f}, 87, 87),
      outweighed_state(generator),
      state_example(generator, "one head, any sink", {static_cast<float>(generator.uniform(-3, 3))}, 0, 0)};
}

/// Of each query its weights: of all keys before, and of the sink.
rounding::Weights joined(const Example& example, Index row) {
  const Tensor &m = example.inputs.at("m"), &l = example.inputs.at("l"), &sinks = example.inputs.at("sinks");
  const double before = l[row] > 0 ? m[row] + std::log(double{l[row]}) : minus_infinity;
  return rounding::weights(std::vector<double>{before, sinks[row / m.extent(1)]}, {}, 1);
}

/// o and lse from the weights, or what is rounded off them.
Answer of_weights(const Example& example, bool rounded) {
  const Tensor64 o = input(example, "o"), l = input(example, "l");
  Answer answer{{"o", Tensor64(o.shape())}, {"lse", Tensor64(l.shape())}};
  const Index width = o.extent(2);
  for (Index row = 0; row < l.size(); ++row) {
    const rounding::Weights weights = joined(example, row);
    answer["lse"][row] = rounded ? std::sqrt(weights.of_lse) : weights.lse;
    for (Index i = row * width; i < (row + 1) * width && l[row] > 0; ++i) {
      const double value = weights.p[0] * o[i] / l[row];
      // A factor for what was before, and a division.
      answer["o"][i] = rounded
                           ? std::sqrt((weights.own[0] + weights.own[1] + weights.common) * value * value +
                                       2 * rounding::of(value))
                           : value;
    }
  }
  return answer;
}

/// Rows whose lse has the sink in it.
std::vector<Example> rows_with_sinks(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](const char* what, std::vector<float> sinks, float level) {
    const Index heads = std::ssize(sinks), queries = generator.integer(5, 9);
    Example example{what,
                    {{"sinks", Tensor({heads}, std::move(sinks))},
                     {"lse", generator.normal({heads, queries})},
                     {"delta", generator.normal({heads, queries})}}};
    for (Index row = 0; row < example.inputs["lse"].size(); ++row) {
      const double sink = example.inputs["sinks"][row / queries], lse = level + example.inputs["lse"][row];
      example.inputs["lse"][row] =
          static_cast<float>(std::max(sink, lse) + std::log1p(std::exp(-std::abs(sink - lse))));
      example.inputs["delta"][row] += row / queries % 2 == 0 ? 1 : -1;  // a sign of its own for each head
    }
    all.push_back(std::move(example));
  };
  add("sinks beside the scores", {0.5f, -1.5f, 2}, 0);
  add("sinks far below the scores", {-20, -3}, 0);
  add("a sink of 100, and one of -0.5", {100, -0.5f}, 0);
  add("scores near -150", {-149, 0.5f}, -150);
  add("one head", {1.25f}, 1);
  return all;
}

std::function<Answer(const Example&)> gradients(std::vector<double> grouped::SinkGradients::*which) {
  return [which](const Example& example) -> Answer {
    const Tensor64 lse = input(example, "lse");
    auto all = grouped::sink_gradients(input(example, "sinks").values(), lse, input(example, "delta"),
                                       Tensor64(lse.shape()));
    return {{"d_sinks", Tensor64({lse.extent(0)}, std::move(all.*which))}};
  };
}

}  // namespace

Task slopes_task(std::string id, std::string function) {
  Task task = exact_task(
      std::move(id), std::move(function), {{"slopes", {"head"}}}, counts_of_heads,
      [](const Example& example) { return of_slopes(example, [](double slope) { return slope; }); });
  // An exponent that is rounded, and exp2.
  task.rounding = [](const Example& example) {
    return of_slopes(example, [](double slope) { return std::sqrt(rounding::of(9 * slope)); });
  };
  task.explain = telling_arguments({"heads"});
  return task;
}

Task join_task(std::string id, std::string function) {
  const auto right = [](const Example& example) { return of_weights(example, false); };
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{.name = "o", .axes = {"head", "query", "col"}, .called = "o / l"},
                      {.name = "lse", .axes = {"head", "query"}, .called = "m + log l"}},
          .examples = states,
          .expected = right,
          .baseline = right,
          .rounding = [](const Example& example) { return of_weights(example, true); }};
}

Task gradients_task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"d_sinks", {"head"}}},
          .examples = rows_with_sinks,
          .expected = gradients(&grouped::SinkGradients::values),
          .baseline = gradients(&grouped::SinkGradients::values),
          .rounding = gradients(&grouped::SinkGradients::rounded)};
}

}  // namespace course::sinks
