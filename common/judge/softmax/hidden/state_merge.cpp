#include "judge/softmax/state_merge.hpp"

#include "player/softmax_steps.hpp"

namespace course::state_merge {

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

std::vector<Example> hidden_examples(InputGenerator& generator, int) {
  return {any_states(generator, "many states, some empty", 20, generator.integer(6, 12)),
          any_states(generator, "two", 30, 2)};
}

}  // namespace course::state_merge
