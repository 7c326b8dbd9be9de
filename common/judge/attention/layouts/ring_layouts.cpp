#include <algorithm>

#include "judge/attention/layouts/layouts.hpp"
#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "judge/attention/ring/ring_mask.hpp"
#include "ring/shards.hpp"

namespace course::layouts {

namespace {

Example under_causal_mask(Example example) {
  example.arguments.merge(arguments_of(example.layout));
  return ring_mask::with_offset(std::move(example), 0);
}

/// Ordinary input on all kinds of layouts, with equal shards and unequal ones.
std::vector<Example> ordinary_rings(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  const auto add = [&](const std::string& kind, const Layout& layout) {
    const int tokens = layout.tokens();
    all.push_back(causal_ring_example(std::to_string(tokens) + " tokens, " + kind, layout,
                                      random_qkv(generator, 2, tokens, tokens, generator.integer(3, 6))));
  };
  const int even = 2 * ranks * generator.integer(ranks == 1 ? 4 : 2, ranks == 1 ? 5 : 3);
  const int odd = even + generator.integer(1, 2 * ranks - 1);
  add("striped", Layout::striped(even, ranks));
  add("zigzag", Layout::zigzag(even_shards(even, 2 * ranks)));
  for (const auto& [kind, layout] : all_kinds(generator, odd, ranks)) add(kind, layout);
  add("striped", Layout::striped(std::max(4, ranks / 2), ranks));  // of fewer, gradients may cancel
  return all;
}

std::vector<Example> large_rings(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (const Example& large : ring_forward::with_large_blocks(generator, ranks)) {
    const Layout zigzag = Layout::zigzag(even_shards(large.layout.tokens(), 2 * ranks));
    all.push_back(causal_ring_example(large.what + ", zigzag", zigzag,
                                      {large.inputs.at("q"), large.inputs.at("k"), large.inputs.at("v")}));
    all.back().large = true;
  }
  return all;
}

}  // namespace

std::vector<Example> ring_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all = ordinary_rings(generator, ranks);
  const int tokens = generator.integer(20, 30);
  const Layout striped = Layout::striped(tokens, ranks);
  const Layout zigzag = Layout::zigzag(even_shards(tokens, 2 * ranks));
  const auto add = [&](std::string what, const Layout& layout, QKV qkv) {
    all.push_back(causal_ring_example(std::move(what), layout, std::move(qkv)));
  };
  add("a row maximum that comes last, zigzag", zigzag, late_maximum_qkv(generator, 3, tokens, tokens, 8));
  add("scores more than 110 apart, striped", striped, wide_scores_qkv(generator, 2, tokens, tokens, 6));
  add("scores near -2e4, zigzag", zigzag, very_negative_qkv(generator, 2, tokens, tokens, 5, -2e4));
  add("real queries, keys and values, striped", striped,
      minilm_qkv(generator.integer(0, 512 - tokens), tokens, {generator.integer(0, 11)}));
  all.push_back(under_causal_mask(ring_forward::far_example(generator, Layout::striped(3 * ranks, ranks))));
  std::ranges::move(large_rings(generator, ranks), std::back_inserter(all));
  return all;
}

std::vector<Example> backward_ring_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all = ordinary_rings(generator, ranks);
  // Halved, for a query whose weight is on one key has a gradient that cancels.
  constexpr int tokens = 53;
  all.push_back(causal_ring_example("scores near -150, zigzag",
                                    Layout::zigzag(even_shards(tokens, 2 * ranks)),
                                    very_negative_qkv(generator, 2, tokens, tokens, 5, -150)));
  all.push_back(causal_ring_example(
      "real queries, halved, with real keys and values, striped", Layout::striped(tokens, ranks),
      minilm_qkv(generator.integer(0, 512 - tokens), tokens, two_real_heads(generator), 0.5f)));
  std::ranges::move(large_rings(generator, ranks), std::back_inserter(all));
  for (Example& example : all) example = ring_backward::with_gradient(generator, std::move(example));
  return all;
}

Example causal_ring_example(std::string what, const Layout& layout, QKV qkv) {
  return under_causal_mask(ring_forward::make_example(std::move(what), layout, std::move(qkv)));
}

}  // namespace course::layouts
