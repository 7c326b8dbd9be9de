#include "judge/attention/ring/ring_forward.hpp"

#include "judge/attention/ring/ring_mask.hpp"
#include "ring/shards.hpp"

namespace course {

std::vector<Example> ring_forward::hidden_examples(InputGenerator& generator, int ranks) {
  const std::vector<int> shards = any_shards(generator, ranks, 1);
  const int n = total_tokens(shards);
  return {
      make_example("shards of any length", shards, random_qkv(generator, 4, n, n, generator.integer(2, 33))),
      make_example("steep scores", shards, random_qkv(generator, 2, n, n, 13, 5)),
      make_example("scores far apart", shards, wide_scores_qkv(generator, 2, n, n, 9)),
      make_example("real input", shards,
                   minilm_qkv(generator.integer(0, 512 - n), n, {generator.integer(0, 11)}, 2))};
}

std::vector<Example> ring_forward::hidden_masked_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all = hidden_examples(generator, ranks);
  for (Example& example : all) {
    const int tokens = example.layout.tokens();
    example = ring_mask::with_offset(std::move(example), generator.integer(-tokens / 2, tokens / 2));
  }
  return all;
}

}  // namespace course
