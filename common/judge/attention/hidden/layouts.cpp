#include "judge/attention/layouts/layouts.hpp"

#include "judge/attention/ring/ring_backward.hpp"
#include "ring/shards.hpp"

namespace course {

namespace {

/// 2P unequal chunks of any length, as no rule cuts them.
Layout unruly_zigzag(InputGenerator& generator, int ranks) {
  std::vector<int> chunks = any_shards(generator, 2 * ranks, 8);
  return Layout::zigzag(chunks);
}

}  // namespace

std::vector<Example> layouts::hidden_worlds(InputGenerator& generator, int) {
  return {world_example("many ranks", generator.integer(150, 400), generator.integer(9, 17)),
          world_example("few ranks", generator.integer(30, 90), generator.integer(2, 7)),
          world_example("one token", 1, generator.integer(2, 5))};
}

std::vector<Example> layouts::hidden_tensors(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const auto& [kind, layout] : all_kinds(generator, generator.integer(40, 90), generator.integer(2, 9)))
    all.push_back(tensor_example(generator, kind, layout, 3, 4));
  all.push_back(tensor_example(generator, "unequal chunks", unruly_zigzag(generator, 4), 1, 6));
  return all;
}

std::vector<Example> layouts::hidden_sequences(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const auto& [kind, layout] : all_kinds(generator, generator.integer(40, 90), generator.integer(2, 9)))
    all.push_back(sequence_example(generator, kind, layout));
  all.push_back(sequence_example(generator, "unequal chunks", unruly_zigzag(generator, 4)));
  return all;
}

std::vector<Example> layouts::hidden_pairs(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const auto& [kind, layout] : all_kinds(generator, generator.integer(40, 90), generator.integer(2, 9)))
    all.push_back(pairs_example(kind, layout));
  all.push_back(pairs_example("unequal chunks", unruly_zigzag(generator, 4)));
  return all;
}

std::vector<Example> layouts::hidden_rings(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  const auto add = [&](const std::string& what, const Layout& layout) {
    const int n = layout.tokens();
    all.push_back(
        causal_ring_example(what, layout, random_qkv(generator, 3, n, n, generator.integer(2, 20))));
  };
  const int tokens = generator.integer(20, 60);
  for (const auto& [kind, layout] : all_kinds(generator, tokens, ranks)) add(kind, layout);
  add("unequal chunks", unruly_zigzag(generator, ranks));
  return all;
}

std::vector<Example> layouts::hidden_backward_rings(InputGenerator& generator, int ranks) {
  std::vector<Example> all = hidden_rings(generator, ranks);
  for (Example& example : all) example = ring_backward::with_gradient(generator, std::move(example));
  return all;
}

}  // namespace course
