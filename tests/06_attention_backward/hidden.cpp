#include "examples.hpp"
#include "judge/task.hpp"

using namespace course;
using namespace examples;

namespace {

std::vector<Example> rows(Draw& draw, int) {
  return {rows_example("a wide matrix", draw, score_rows(draw, draw.integer(2, 6), draw.integer(200, 500)),
                       LseGradient::Zero),
          rows_example("a tall matrix", draw, score_rows(draw, draw.integer(100, 200), draw.integer(2, 5)),
                       LseGradient::Drawn),
          rows_example("many masked rows", draw, masked_rows(draw, draw.integer(17, 33), draw.integer(9, 50)),
                       LseGradient::Drawn),
          rows_example("many wide rows", draw, wide_rows(draw, draw.integer(17, 33), draw.integer(9, 50)),
                       LseGradient::Drawn)};
}

std::vector<Example> attention(Draw& draw, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, QKV qkv, LseGradient lse_gradient, Blocks blocks) {
    Tensor d_o = draw.normal(qkv.q.shape());
    const Shape lse_shape{qkv.q.extent(0), qkv.q.extent(1)};
    Tensor d_lse = lse_gradient == LseGradient::Drawn ? lse_gradients(draw, lse_shape) : Tensor(lse_shape);
    all.push_back(
        attention_example(std::move(what), std::move(qkv), std::move(d_o), std::move(d_lse), blocks));
  };
  const int keys = draw.integer(40, 90);
  const int queries = draw.integer(20, 90);
  const Blocks blocks{ragged_block(draw, keys), ragged_block(draw, queries)};
  const Blocks masked = blocks.with_offset(draw.integer(-queries / 2, keys / 2));
  add("ordinary scores", random_qkv(draw, 2, queries, keys, draw.integer(2, 40)), LseGradient::Drawn, blocks);
  add("ordinary scores, lse without a gradient", random_qkv(draw, 3, queries, keys, draw.integer(2, 40)),
      LseGradient::Zero, blocks);
  add("ordinary scores, some of them hidden", random_qkv(draw, 2, queries, keys, draw.integer(2, 40)),
      LseGradient::Drawn, masked);
  // Where a row has next to all its weight on one key, only d_lse leaves float32 something to keep.
  add("steep scores", random_qkv(draw, 2, queries, keys, 16, 6), LseGradient::Drawn, masked);
  add("a late maximum", late_maximum_qkv(draw, 3, queries, keys, 9), LseGradient::Drawn, blocks);
  add("scores far apart", wide_scores_qkv(draw, 3, queries, keys, 9), LseGradient::Drawn, blocks);
  add("real q, k and v", minilm_qkv(draw.integer(0, 400), 110, two_real_heads(draw), 3), LseGradient::Drawn,
      {48, 39, 5});
  return all;
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks[0].hidden_examples = rows;
  judge.tasks[1].hidden_examples = attention;
  judge.tasks[2].hidden_examples = attention;
}
