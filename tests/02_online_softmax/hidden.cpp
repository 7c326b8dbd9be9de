#include <algorithm>
#include <limits>

#include "judge/task.hpp"

using namespace course;

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// [rows, parts] states: m near a level of each part's own, l between 1 and 50; every third is empty.
Example states(InputGenerator& generator, std::string what, Index rows, Index parts) {
  Tensor m({rows, parts}), l({rows, parts});
  for (Index part = 0; part < parts; ++part) {
    const double level = generator.uniform(-200, 200);
    for (Index row = 0; row < rows; ++row) {
      const bool empty = generator.integer(0, 2) == 0;
      m.matrix()(row, part) = empty ? minus_infinity : static_cast<float>(level + generator.uniform(-3, 3));
      l.matrix()(row, part) = empty ? 0.0f : static_cast<float>(generator.uniform(1, 50));
    }
  }
  return {std::move(what), {{"m", std::move(m)}, {"l", std::move(l)}}};
}

std::vector<Example> merges(InputGenerator& generator, int) {
  return {states(generator, "many states, some empty", 20, generator.integer(6, 12)),
          states(generator, "two", 30, 2)};
}

Example rows(InputGenerator& generator, std::string what, Tensor scores, int block) {
  Tensor values = generator.normal({scores.extent(1), generator.integer(1, 12)});
  for (float& value : values.values()) value += 1.0f;
  return {std::move(what),
          {{"scores", std::move(scores)}, {"values", std::move(values)}},
          {{"block", {static_cast<double>(block)}}}};
}

std::vector<Example> passes(InputGenerator& generator, int) {
  const int block = generator.integer(2, 33);
  return {
      rows(generator, "long rows", score_rows(generator, 4, generator.integer(150, 400)), block),
      rows(generator, "masked rows", masked_rows(generator, 12, generator.integer(30, 90)), block),
      rows(generator, "wide rows", wide_rows(generator, 12, generator.integer(30, 90)), block),
      rows(generator, "a late maximum", late_maximum_rows(generator, 6, generator.integer(30, 90)), block)};
}

Example parts(InputGenerator& generator, std::string what) {
  const Shape shape{24, generator.integer(1, 12)};
  Example example{std::move(what), {{"o", generator.normal(shape)}, {"o_b", generator.normal(shape)}}};
  for (const auto& [name, of] : {std::pair("lse", "o"), std::pair("lse_b", "o_b")}) {
    Tensor lse({24});
    for (Index row = 0; row < 24; ++row) {
      const bool empty = generator.integer(0, 3) == 0;
      lse[row] = empty ? minus_infinity : static_cast<float>(generator.uniform(-150, 150));
      if (empty) std::ranges::fill(example.inputs[of].matrix().row(row), 0.0f);
    }
    example.inputs[name] = std::move(lse);
  }
  return example;
}

std::vector<Example> normalised(InputGenerator& generator, int) {
  return {parts(generator, "parts far apart, some empty"), parts(generator, "the same with others")};
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks[0].hidden_examples = merges;
  judge.tasks[1].hidden_examples = passes;
  judge.tasks[2].hidden_examples = normalised;
}
