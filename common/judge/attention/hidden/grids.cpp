#include "judge/attention/grids/grids.hpp"

#include "judge/attention/exchange/examples.hpp"
#include "judge/attention/grouped/examples.hpp"

namespace course::grids {

namespace {

/// One of the divisors of the number of ranks.
int any_divisor(InputGenerator& generator, int ranks) {
  std::vector<int> divisors;
  for (int number = 1; number <= ranks; ++number)
    if (ranks % number == 0) divisors.push_back(number);
  return divisors[generator.integer(0, static_cast<int>(divisors.size()) - 1)];
}

/// make(what, layout, sizes, causal) of any heads on any layout, for key heads that `of_keys` divides.
template <class Make>
Example any_heads(InputGenerator& generator, int ranks, Index of_keys, Make make) {
  const Index kv_heads = of_keys * generator.integer(1, 3), heads = kv_heads * generator.integer(1, 3),
              width = generator.integer(1, 6);
  const Layout layout = exchange::any_layout(generator, ranks);
  const bool causal = generator.integer(0, 2) > 0;
  return make("any heads, any layout", layout, grouped::Sizes{heads, kv_heads, width, width}, causal);
}

}  // namespace

std::vector<Example> hidden_grids(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (int i = 0; i < 2; ++i) {
    const int ulysses = any_divisor(generator, ranks);
    all.push_back(
        any_heads(generator, ranks, 1, [&](auto... of) { return on_grid(generator, ulysses, of...); }));
  }
  return all;
}

std::vector<Example> hidden_gathers(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (int i = 0; i < 2; ++i) {
    const Index at_once = generator.integer(1, 2);
    all.push_back(any_heads(generator, ranks, at_once,
                            [&](auto... of) { return gathering(generator, at_once, of...); }));
  }
  return all;
}

std::vector<Example> hidden_backward_gathers(InputGenerator& generator, int ranks) {
  return grouped::with_gradients(generator, hidden_gathers(generator, ranks));
}

std::vector<Example> hidden_double_rings(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (int i = 0; i < 2; ++i) {
    const int node = any_divisor(generator, ranks);
    all.push_back(
        any_heads(generator, ranks, 1, [&](auto... of) { return in_nodes(generator, node, of...); }));
  }
  return all;
}

}  // namespace course::grids
