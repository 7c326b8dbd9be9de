#include <algorithm>
#include <iterator>
#include <numeric>

#include "judge/attention/block/block_backward.hpp"
#include "judge/attention/forward.hpp"
#include "reference/reference.hpp"

namespace course::block_backward {

namespace {

/// Zeros, or of either sign and never near 0.
Tensor lse_gradients(InputGenerator& generator, Shape shape, LseGradient gradient) {
  Tensor made(std::move(shape));
  if (gradient == LseGradient::Zero) return made;
  for (float& value : made.values())
    value = static_cast<float>((2 * generator.integer(0, 1) - 1) * generator.uniform(0.5, 2));
  return made;
}

/// drawn_example() with this d_o [heads, queries, head_dim] and d_lse [heads, queries].
Example make_example(std::string what, QKV qkv, Tensor d_o, Tensor d_lse, Blocks blocks) {
  Example example{
      std::move(what),
      {{"q", std::move(qkv.q)},
       {"k", std::move(qkv.k)},
       {"v", std::move(qkv.v)},
       {"d_o", std::move(d_o)},
       {"d_lse", std::move(d_lse)}},
      {{"block", {static_cast<double>(blocks.block)}},
       {"query_block", {static_cast<double>(blocks.query_block)}},
       {"offset", {static_cast<double>(blocks.offset)}},
       {"width", {static_cast<double>(blocks.width)}},
       {"step", {static_cast<double>(blocks.step)}},
       {"blind", {static_cast<double>(blocks.first_blind), static_cast<double>(blocks.end_of_blind)}}}};
  const reference::Attention<double> forward =
      reference::attention(input(example, "q"), input(example, "k"), input(example, "v"), mask_of(example));
  const Tensor64 gradient = input(example, "d_o");
  Tensor64 delta = input(example, "d_lse");
  const MatrixView<const double> o(forward.o.data(), delta.size(), forward.o.extent(2));
  const MatrixView<const double> d_o_rows(gradient.data(), o.rows(), o.cols());
  for (Index row = 0; row < delta.size(); ++row) {
    const auto o_row = o.row(row);
    delta[row] = std::inner_product(o_row.begin(), o_row.end(), d_o_rows.row(row).begin(), -delta[row]);
  }
  example.inputs.emplace("o", cast<float>(forward.o));
  example.inputs.emplace("lse", cast<float>(forward.lse));
  example.inputs.emplace("delta", cast<float>(delta));
  return example;
}

}  // namespace

Example rows_example(InputGenerator& generator, std::string what, const Tensor& scores,
                     LseGradient lse_gradient) {
  Tensor d_lse = lse_gradients(generator, {scores.extent(0)}, lse_gradient);
  return {std::move(what),
          {{"p", reference::softmax(scores).p},
           {"dp", generator.normal(scores.shape())},
           {"d_lse", std::move(d_lse)}}};
}

Example drawn_example(InputGenerator& generator, std::string what, QKV qkv, LseGradient lse_gradient,
                      Blocks blocks) {
  Tensor d_o = generator.normal(qkv.q.shape());
  Tensor d_lse = lse_gradients(generator, {qkv.q.extent(0), qkv.q.extent(1)}, lse_gradient);
  return make_example(std::move(what), std::move(qkv), std::move(d_o), std::move(d_lse), blocks);
}

Example real_example(InputGenerator& generator, std::string what, float q_factor, LseGradient lse_gradient,
                     Blocks blocks) {
  Tensor d_lse = lse_gradients(generator, {2, 50}, lse_gradient);
  for (float& value : d_lse.values()) value *= 1e-3f;  // about as large as D is here
  const Index first = generator.integer(0, 460);
  const std::vector<Index> heads = two_real_heads(generator);
  return make_example(std::move(what), minilm_qkv(first, 50, heads, q_factor), minilm_d_o(first, 50, heads),
                      std::move(d_lse), blocks);
}

namespace {

/// What `step`, `offset` and `width` show.
reference::Mask moving_ranges(const Example& example) {
  const Index offset = integer(example, "offset"), width = integer(example, "width");
  if (width > 0) return reference::Mask::window(width, offset);
  if (integer(example, "step") == 1) return reference::Mask::causal(offset);
  std::vector<KeyRange> seen;
  for (Index i = 0; i < example.inputs.at("q").extent(1); ++i)
    seen.push_back({0, integer(example, "step") * i + offset + 1});
  return reference::Mask::ranges(std::move(seen));
}

}  // namespace

reference::Mask mask_of(const Example& example) {
  const std::vector<double>& blind = example.arguments.at("blind");
  if (blind.at(0) == blind.at(1)) return moving_ranges(example);
  const Index keys = example.inputs.at("k").extent(1);
  std::vector<KeyRange> seen;
  for (Index i = 0; i < example.inputs.at("q").extent(1); ++i) {
    const bool is_blind = blind[0] <= static_cast<double>(i) && static_cast<double>(i) < blind[1];
    seen.push_back({0, is_blind ? 0 : keys});
  }
  return moving_ranges(example) & reference::Mask::ranges(std::move(seen));
}

std::vector<Example> rows_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](const char* what, const Tensor& scores, LseGradient lse_gradient) {
    all.push_back(rows_example(generator, what, scores, lse_gradient));
  };
  const Index cols = generator.integer(7, 20);
  add("ordinary rows", score_rows(generator, 9, cols), LseGradient::Zero);
  add("rows whose lse has a gradient of its own", score_rows(generator, 9, cols), LseGradient::Drawn);
  add("rows that are masked, wholly or in part", masked_rows(generator, 8, cols), LseGradient::Drawn);
  // Next to all the weight is on one entry: without d_lse, float32 would keep no digit of ds.
  add("scores more than 110 apart", wide_rows(generator, 8, cols), LseGradient::Drawn);
  add("one column", score_rows(generator, 5, 1), LseGradient::Drawn);
  add("one row", score_rows(generator, 1, 300), LseGradient::Zero);
  add("no columns", score_rows(generator, 3, 0), LseGradient::Drawn);
  add("no rows", score_rows(generator, 0, 5), LseGradient::Drawn);
  add("one column, masked in some rows", masked_rows(generator, 8, 1), LseGradient::Drawn);
  return all;
}

Example large_values_example(InputGenerator& generator, Index head_dim) {
  Example made =
      drawn_example(generator, "keys far below one with values as much larger, and an lse above 88",
                    large_values_qkv(generator, 6, head_dim), LseGradient::Zero, {5, 6});
  made.less_telling = made.far_out = true;
  return made;
}

std::vector<Example> far_examples(InputGenerator& generator, Index head_dim) {
  std::vector<Example> all;
  // A key that all queries see has all the weight: the first.
  for (const auto& [what, score] :
       {std::pair{"one score near -1e10, and all others far below it or hidden", -0x1p33},
        {"one score near -1e30, and all others far below it or hidden", -0x1p100}}) {
    const KeyScores scores{deciding_scores(11, score).back()};
    all.push_back(drawn_example(generator, what, exact_scores_qkv(generator, 6, head_dim, scores),
                                LseGradient::Drawn, Blocks{4, 4}.with_offset(0)));
    all.back().less_telling = all.back().far_out = true;
  }
  all.push_back(large_values_example(generator, head_dim));
  return all;
}

std::vector<Example> examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, QKV qkv, LseGradient lse_gradient, Blocks blocks) {
    all.push_back(drawn_example(generator, std::move(what), std::move(qkv), lse_gradient, blocks));
  };
  const auto add_real = [&](std::string what, float q_factor, LseGradient lse_gradient, Blocks blocks) {
    all.push_back(real_example(generator, std::move(what), q_factor, lse_gradient, blocks));
  };
  const Index keys = generator.integer(16, 40);
  const Index queries = keys + 3;
  const Blocks ragged{ragged_block(generator, keys), ragged_block(generator, queries)};
  // First, since a transpose that is left out ends the player wherever shapes forbid it.
  add("as many queries as keys, in one block", random_qkv(generator, 2, 12, 12, 5), LseGradient::Zero,
      {16, 16});
  add("ordinary scores, shorter last blocks", random_qkv(generator, 3, queries, keys, 8), LseGradient::Zero,
      ragged);
  add("an lse that has a gradient of its own", random_qkv(generator, 3, queries, keys, 8), LseGradient::Drawn,
      ragged);
  add("each query sees one key more than the one before", random_qkv(generator, 2, keys, keys, 8),
      LseGradient::Zero, ragged.with_offset(0));
  add("each query sees one key less than the one before", random_qkv(generator, 2, keys, keys, 8),
      LseGradient::Zero, ragged.with_offset(keys - generator.integer(0, 1), -1));
  add("queries that see no key", random_qkv(generator, 2, queries, keys, 6), LseGradient::Drawn,
      ragged.with_offset(-generator.integer(2, 6)));
  add_real("real q, k, v and d_o", 1, LseGradient::Zero, {generator.integer(8, 16), 17});
  // Where next to all the weight of a row is on one key, dp - D cancels; d_lse gives float32 something to
  // keep.
  add_real("real q, k, v and d_o with q doubled", 2, LseGradient::Drawn, {17, 50});
  add("a maximum that comes last", late_maximum_qkv(generator, 2, queries, keys, 5), LseGradient::Drawn,
      ragged);
  add("scores more than 110 apart", wide_scores_qkv(generator, 2, queries, keys, 6), LseGradient::Drawn,
      ragged);
  add("all scores near -150", very_negative_qkv(generator, 2, 9, keys, 7, -150), LseGradient::Zero, ragged);
  add("all scores near -500", very_negative_qkv(generator, 2, 9, keys, 7, -500), LseGradient::Zero, ragged);
  add("blocks of one key", random_qkv(generator, 2, 6, 11, 3), LseGradient::Zero, {1, 1});
  add("blocks that divide the keys", random_qkv(generator, 2, 14, 24, 9), LseGradient::Zero, {8, 7});
  add("a block larger than all keys", random_qkv(generator, 2, 8, 13, 5), LseGradient::Zero, {64, 64});
  add("more queries than a tile is likely to hold", random_qkv(generator, 1, 300, 20, 4), LseGradient::Zero,
      {7, 290});
  add("head_dim 1", random_qkv(generator, 2, 6, 15, 1), LseGradient::Zero, {4, 4});
  add("one query", random_qkv(generator, 2, 1, 19, 4), LseGradient::Zero, {5, 5});
  add("one key", random_qkv(generator, 2, 5, 1, 4), LseGradient::Drawn, {3, 3});
  add("no query sees a key", random_qkv(generator, 2, 5, 7, 4), LseGradient::Drawn,
      Blocks{3, 3}.with_offset(-9));
  add("no queries", random_qkv(generator, 2, 0, 6, 4), LseGradient::Zero, {4, 4});
  add("no keys", random_qkv(generator, 2, 4, 0, 4), LseGradient::Zero, {4, 4});
  // Sizes that no fixed room, tile or count is likely to hold.
  add("head_dim 130", random_qkv(generator, 2, 5, 7, 130), LseGradient::Zero, {3, 5});
  add("a block of hundreds of keys", random_qkv(generator, 1, 3, 400, 3), LseGradient::Zero, {300, 3});
  add("300 queries, each sees one key more than the one before", random_qkv(generator, 1, 300, 310, 4),
      LseGradient::Zero, {64, 290, 0});
  // exp of such a score less lse is infinite: who multiplies it by 0 to hide it makes a NaN.
  add("hidden scores more than 110 above the others", wide_scores_qkv(generator, 1, 20, 40, 6),
      LseGradient::Zero, {17, 20, 5, 0, 2});
  std::ranges::move(far_examples(generator, 4), std::back_inserter(all));
  return all;
}

std::vector<Example> with_a_long_one(InputGenerator& generator, int ranks) {
  std::vector<Example> all = examples(generator, ranks);
  all.push_back(make_example("512 queries and 2048 keys", random_qkv(generator, 1, 512, 2048, 4),
                             generator.normal({1, 512, 4}), Tensor({1, 512}),
                             {generator.integer(64, 100), 1}));
  all.back().large = true;
  return all;
}

}  // namespace course::block_backward
