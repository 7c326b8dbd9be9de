#include "judge/attention/block/block_forward.hpp"

namespace course {

std::vector<Example> block_forward::hidden_examples(InputGenerator& generator, int) {
  const int keys = generator.integer(40, 120);
  const int queries = generator.integer(20, 90);
  const int block = generator.integer(2, keys - 1);
  const Index first = generator.integer(0, 380);
  return {make_example("ordinary scores", random_qkv(generator, 2, queries, keys, generator.integer(2, 40)),
                       block),
          make_example("steep scores", random_qkv(generator, 2, queries, keys, 16, 6), block),
          make_example("a late maximum", late_maximum_qkv(generator, 3, queries, keys, 9), block),
          make_example("scores far apart", wide_scores_qkv(generator, 3, queries, keys, 9), block),
          make_example("real input", minilm_qkv(first, 130, {generator.integer(0, 11)}, 3), 48)};
}

}  // namespace course
