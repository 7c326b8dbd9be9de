#include <algorithm>
#include <limits>

#include "judge/task.hpp"

using namespace course;

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// [rows, parts] states: m near a level of each part's own, l between 1 and 50; every third is empty.
Example states(Draw& draw, std::string what, Index rows, Index parts) {
  Tensor m({rows, parts}), l({rows, parts});
  for (Index part = 0; part < parts; ++part) {
    const double level = draw.uniform(-200, 200);
    for (Index row = 0; row < rows; ++row) {
      const bool empty = draw.integer(0, 2) == 0;
      m.matrix()(row, part) = empty ? minus_infinity : static_cast<float>(level + draw.uniform(-3, 3));
      l.matrix()(row, part) = empty ? 0.0f : static_cast<float>(draw.uniform(1, 50));
    }
  }
  return {std::move(what), {{"m", std::move(m)}, {"l", std::move(l)}}};
}

std::vector<Example> merges(Draw& draw, int) {
  return {states(draw, "many states, some empty", 20, draw.integer(6, 12)), states(draw, "two", 30, 2)};
}

Example rows(Draw& draw, std::string what, Tensor scores, int block) {
  Tensor values = draw.normal({scores.extent(1), draw.integer(1, 12)});
  for (float& value : values.values()) value += 1.0f;
  return {std::move(what),
          {{"scores", std::move(scores)}, {"values", std::move(values)}},
          {{"block", {static_cast<double>(block)}}}};
}

std::vector<Example> passes(Draw& draw, int) {
  const int block = draw.integer(2, 33);
  return {rows(draw, "long rows", score_rows(draw, 4, draw.integer(150, 400)), block),
          rows(draw, "masked rows", masked_rows(draw, 12, draw.integer(30, 90)), block),
          rows(draw, "wide rows", wide_rows(draw, 12, draw.integer(30, 90)), block),
          rows(draw, "a late maximum", late_maximum_rows(draw, 6, draw.integer(30, 90)), block)};
}

Example parts(Draw& draw, std::string what) {
  const Shape shape{24, draw.integer(1, 12)};
  Example example{std::move(what), {{"o", draw.normal(shape)}, {"o_b", draw.normal(shape)}}};
  for (const auto& [name, of] : {std::pair("lse", "o"), std::pair("lse_b", "o_b")}) {
    Tensor lse({24});
    for (Index row = 0; row < 24; ++row) {
      const bool empty = draw.integer(0, 3) == 0;
      lse[row] = empty ? minus_infinity : static_cast<float>(draw.uniform(-150, 150));
      if (empty) std::ranges::fill(example.inputs[of].matrix().row(row), 0.0f);
    }
    example.inputs[name] = std::move(lse);
  }
  return example;
}

std::vector<Example> normalised(Draw& draw, int) {
  return {parts(draw, "parts far apart, some empty"), parts(draw, "the same with others")};
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks[0].hidden_examples = merges;
  judge.tasks[1].hidden_examples = passes;
  judge.tasks[2].hidden_examples = normalised;
}
