#include "judge/softmax/online_softmax.hpp"

#include "player/softmax_steps.hpp"

namespace course::online_softmax {

namespace {

using softmax_steps::minus_infinity;

/// [rows, parts] states: m near a level of each part's own, l between 1 and 50; every third is empty.
Example any_states(InputGenerator& generator, std::string what, Index rows, Index parts) {
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

}  // namespace

std::vector<Example> hidden_merges(InputGenerator& generator, int) {
  return {any_states(generator, "many states, some empty", 20, generator.integer(6, 12)),
          any_states(generator, "two", 30, 2)};
}

std::vector<Example> hidden_passes(InputGenerator& generator, int) {
  const int block = generator.integer(2, 33);
  const auto rows = [&](std::string what, Tensor scores) {
    return make_example(generator, std::move(what), std::move(scores), generator.integer(1, 12), block);
  };
  return {rows("long rows", score_rows(generator, 4, generator.integer(150, 400))),
          rows("masked rows", masked_rows(generator, 12, generator.integer(30, 90))),
          rows("wide rows", wide_rows(generator, 12, generator.integer(30, 90))),
          rows("a late maximum", late_maximum_rows(generator, 6, generator.integer(30, 90)))};
}

}  // namespace course::online_softmax
