#include "judge/attention/grouped/examples.hpp"
#include "ring/shards.hpp"

namespace course::grouped {

namespace {

/// As many query heads a key head as are drawn, values of any width.
Example any_heads(InputGenerator& generator, const char* what, const Layout& layout) {
  const int kv_heads = generator.integer(1, 4), group = generator.integer(1, 4);
  return make_example(generator, what, layout,
                      {kv_heads * group, kv_heads, generator.integer(1, 6), generator.integer(1, 6)});
}

}  // namespace

std::vector<Example> hidden_rings(InputGenerator& generator, int ranks) {
  return {any_heads(generator, "any heads", Layout(unequal_shards(generator, ranks))),
          any_heads(generator, "any heads, equal shards", Layout(std::vector<int>(ranks, 3)))};
}

std::vector<Example> hidden_backward_rings(InputGenerator& generator, int ranks) {
  return with_gradients(generator, hidden_rings(generator, ranks));
}

}  // namespace course::grouped
