#include "judge/softmax/output_merge.hpp"

#include <algorithm>

#include "player/softmax_steps.hpp"

namespace course::output_merge {

namespace {

using softmax_steps::minus_infinity;

Example any_parts(InputGenerator& generator, std::string what) {
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

}  // namespace

std::vector<Example> hidden_examples(InputGenerator& generator, int) {
  return {any_parts(generator, "parts far apart, some empty"),
          any_parts(generator, "other parts far apart, some empty")};
}

}  // namespace course::output_merge
