#include "judge/attention/exchange/examples.hpp"
#include "judge/attention/layouts/layouts.hpp"

namespace course::exchange {

namespace {

/// Any heads on any layout; q, k and v have one width.
Example any_heads(InputGenerator& generator, int ranks) {
  const Index kv_heads = generator.integer(1, 4), heads = kv_heads * generator.integer(1, 4);
  const std::vector<std::pair<std::string, Layout>> kinds =
      layouts::all_kinds(generator, generator.integer(4, 19), ranks);
  const auto& [what, layout] =
      kinds[static_cast<std::size_t>(generator.integer(0, static_cast<int>(kinds.size()) - 1))];
  const Index width = generator.integer(2, 6);
  return attention_example(generator, "any heads, " + what, layout, {heads, kv_heads, width, width},
                           generator.integer(0, 2) > 0);
}

}  // namespace

std::vector<Example> hidden_forward(InputGenerator& generator, int ranks) {
  return {any_heads(generator, ranks), any_heads(generator, ranks)};
}

std::vector<Example> hidden_backward(InputGenerator& generator, int ranks) {
  return with_gradients(generator, hidden_forward(generator, ranks));
}

}  // namespace course::exchange
