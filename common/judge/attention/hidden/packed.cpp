#include "judge/attention/grouped/examples.hpp"
#include "judge/attention/packed/tasks.hpp"
#include "ring/shards.hpp"

namespace course::packed {

namespace {

/// Any documents, window and layout; ALiBi and sinks or none.
Example any_row(InputGenerator& generator, int ranks) {
  std::vector<int> lengths = unequal_shards(generator, ranks);
  lengths.front() += 6;
  const int tokens = total_tokens(lengths);
  RowMask mask{{0}};
  const Index end = generator.integer(4, tokens);
  while (mask.starts.back() < end)
    mask.starts.push_back(std::min<Index>(end, mask.starts.back() + generator.integer(0, 9)));
  mask.causal = generator.integer(0, 3) > 0;
  if (mask.causal) mask.window = generator.integer(0, tokens / 2);
  const Layout layout =
      generator.integer(0, 1) == 0 ? Layout(lengths) : Layout::documents(mask.starts, tokens, ranks);
  const int kv_heads = generator.integer(1, 3), heads = kv_heads * generator.integer(1, 3);
  std::vector<float> slopes, sinks;
  for (int head = 0; head < heads; ++head) {
    slopes.push_back(static_cast<float>(generator.uniform(0.01, 0.5)));
    sinks.push_back(static_cast<float>(generator.uniform(-2, 2)));
  }
  if (generator.integer(0, 1) == 0) slopes.clear();
  return make_example(generator, "any row", layout,
                      {heads, kv_heads, generator.integer(1, 6), generator.integer(1, 6)}, mask, slopes,
                      sinks);
}

}  // namespace

std::vector<Example> hidden_rings(InputGenerator& generator, int ranks) {
  return {any_row(generator, ranks), any_row(generator, ranks), any_row(generator, ranks)};
}

std::vector<Example> hidden_backward_rings(InputGenerator& generator, int ranks) {
  return grouped::with_gradients(generator, hidden_rings(generator, ranks));
}

}  // namespace course::packed
