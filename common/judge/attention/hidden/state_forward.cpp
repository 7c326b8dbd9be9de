#include "judge/attention/block/state_forward.hpp"

#include "judge/attention/block/block_forward.hpp"

namespace course {

using block_forward::make_example;

std::vector<Example> state_forward::hidden_examples(InputGenerator& generator, int) {
  const int queries = generator.integer(1, 90);
  const int keys = generator.integer(70, 130);
  const int block = generator.integer(20, keys);
  return {make_example("ordinary scores", random_qkv(generator, 1, queries, keys, 32), block),
          make_example("steep scores", random_qkv(generator, 1, queries, keys, 64, 6), block),
          make_example("a late maximum", late_maximum_qkv(generator, 2, queries, keys, 32), block),
          make_example("scores far apart", wide_scores_qkv(generator, 1, 9, keys, 128), keys)};
}

std::vector<Example> state_forward::hidden_range_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all = hidden_examples(generator, ranks);
  for (Example& example : all) example = with_drawn_ranges(generator, std::move(example));
  return all;
}

}  // namespace course
