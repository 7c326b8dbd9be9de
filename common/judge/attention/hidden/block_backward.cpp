#include "judge/attention/block/block_backward.hpp"

#include "judge/attention/forward.hpp"

namespace course {

std::vector<Example> block_backward::hidden_rows(InputGenerator& generator, int) {
  return {rows_example(generator, "a wide matrix",
                       score_rows(generator, generator.integer(2, 6), generator.integer(200, 500)),
                       LseGradient::Zero),
          rows_example(generator, "a tall matrix",
                       score_rows(generator, generator.integer(100, 200), generator.integer(2, 5)),
                       LseGradient::Drawn),
          rows_example(generator, "many masked rows",
                       masked_rows(generator, generator.integer(17, 33), generator.integer(9, 50)),
                       LseGradient::Drawn),
          rows_example(generator, "many wide rows",
                       wide_rows(generator, generator.integer(17, 33), generator.integer(9, 50)),
                       LseGradient::Drawn)};
}

std::vector<Example> block_backward::hidden_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, QKV qkv, LseGradient lse_gradient, Blocks blocks) {
    all.push_back(drawn_example(generator, std::move(what), std::move(qkv), lse_gradient, blocks));
  };
  const int keys = generator.integer(40, 90);
  const int queries = generator.integer(20, 90);
  const Blocks blocks{ragged_block(generator, keys), ragged_block(generator, queries)};
  const Blocks masked = blocks.with_offset(generator.integer(-queries / 2, keys / 2));
  add("ordinary scores", random_qkv(generator, 2, queries, keys, generator.integer(2, 40)),
      LseGradient::Drawn, blocks);
  add("ordinary scores, lse without a gradient",
      random_qkv(generator, 3, queries, keys, generator.integer(2, 40)), LseGradient::Zero, blocks);
  add("ordinary scores, some of them hidden",
      random_qkv(generator, 2, queries, keys, generator.integer(2, 40)), LseGradient::Drawn, masked);
  // Where a row has next to all its weight on one key, only d_lse leaves float32 something to keep.
  add("steep scores", random_qkv(generator, 2, queries, keys, 16, 6), LseGradient::Drawn, masked);
  add("a late maximum", late_maximum_qkv(generator, 3, queries, keys, 9), LseGradient::Drawn, blocks);
  add("scores far apart", wide_scores_qkv(generator, 3, queries, keys, 9), LseGradient::Drawn, blocks);
  add("real q, k and v", minilm_qkv(generator.integer(0, 400), 110, two_real_heads(generator), 3),
      LseGradient::Drawn, {48, 39, 5});
  return all;
}

}  // namespace course
