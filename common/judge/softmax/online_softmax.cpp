#include "judge/softmax/online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "judge/diagnosis/readings.hpp"
#include "judge/numbers/rounding.hpp"
#include "judge/softmax/pass_steps.hpp"
#include "judge/softmax/weighed_means.hpp"
#include "player/softmax_steps.hpp"

namespace course::online_softmax {

namespace {

using namespace pass_steps;
using softmax_steps::minus_infinity;

/// Divides o; returns lse.
float finish(const PassSteps& steps, SoftmaxState state, std::span<float> o) {
  const bool zeros = (steps.zeros == Zeros::WithoutMaximum && state.m == minus_infinity) ||
                     (steps.zeros == Zeros::WithoutSum && state.l == 0.0f);
  if (zeros) return steps.zeros_with_m ? state.m : minus_infinity;
  for (float& component : o) component /= steps.divides ? state.l : 1.0f;
  return steps.lse(state);
}

/// One pass over each row of a score matrix with the same values.
Answer pass_over_rows(const PassSteps& steps, const Example& example) {
  const auto scores = example.inputs.at("scores").matrix();
  const auto values = example.inputs.at("values").matrix();
  const Index block = static_cast<Index>(example.arguments.at("block").front());
  const std::vector<float> ones(scores.cols(), 1.0f);
  Tensor o({scores.rows(), values.cols()});
  Tensor lse({scores.rows()});
  for (Index i = 0; i < scores.rows(); ++i) {
    SoftmaxState state{steps.start, 0.0f};
    for (Index first = 0; first < scores.cols(); first += block) {
      const Index all = scores.cols();
      const Index begin =
          steps.moves_last_block_back ? std::max<Index>(0, std::min(first, all - block)) : first;
      const Index count = std::min(block, all - begin);
      if (steps.drops_last_block && count < block) break;
      see_block(steps, scores.row(i).subspan(begin, count), ones,
                values.rows(steps.values_from_first_row ? 0 : begin, count), state, o.matrix().row(i));
    }
    lse[i] = finish(steps, state, o.matrix().row(i));
  }
  return {{"o", cast<double>(o)}, {"lse", cast<double>(lse)}};
}

template <class T>
Answer pass_answer(const Example& example) {
  const TensorOf<T> values = cast<T>(example.inputs.at("values"));
  return weighed(cast<T>(example.inputs.at("scores")), values.extent(1),
                 [&](Index, Index j, Index c) { return values.matrix()(j, c); });
}

/// The scores are inputs, and what is kept between blocks is m and l: no weight is made of a rounded lse.
Answer pass_rounding(const Example& example) {
  const Tensor64 scores = cast<double>(example.inputs.at("scores"));
  const Tensor64 values = cast<double>(example.inputs.at("values"));
  Tensor64 o({scores.extent(0), values.extent(1)});
  for (Index row = 0; row < o.extent(0); ++row) {
    rounding::write_mean(rounding::weights(scores.matrix().row(row), {}, 0), values.matrix(),
                         o.matrix().row(row));
  }
  return {{"o", std::move(o)}, {"lse", rounding::softmax(scores, 0).at("lse")}};
}

std::vector<WrongSteps<PassSteps>> wrong_passes() {
  using enum Factor;
  using enum Masked;
  std::vector<WrongSteps<PassSteps>> all{
      {"l_not_rescaled", {.l = LeftOut}},
      {"l_not_rescaled", {.l = LeftOut, .o = LeftOut}},
      {"l_not_rescaled", {.l = LeftOut, .o = LeftOut, .block = ByBlockMaximum, .masked = SkippedAlways}},
      {"o_not_rescaled", {.o = LeftOut}},
      {"rescale_by_block_maximum", {.forgets_running_maximum = true}},
      // Returned where l is 0, the start itself becomes the lse.
      {"m_starts_at_zero", {.start = 0.0f, .zeros = Zeros::WithoutSum, .zeros_with_m = true}},
      {"m_starts_at_minus_1e4", {.start = -1e4f, .zeros = Zeros::WithoutSum, .zeros_with_m = true}},
      {"masked_minus_masked", {.masked = Evaluated}},
      {"masked_minus_masked", {.masked = Evaluated, .zeros = Zeros::Never}},
      {"zero_by_zero", {.zeros = Zeros::Never}},
      {"final_division_missing", {.divides = false}},
      {"divided_every_block", {.divides_every_block = true}},
      {"divided_every_block", {.divides_every_block = true, .divides = false}},
      {"first_rows_every_block", {.values_from_first_row = true}},
      {"lower_block_skipped", {.skips_lower_blocks = true}},
      {"terms_from_block_maximum", {.block = ByBlockMaximum, .masked = SkippedAlways}},
      {"o_rescaled_every_score", {.rescales_o_every_score = true}},
      {"o_rescaled_every_score", {.rescales_o_every_score = true, .rescales_o_when_masked = true}},
      {"largest_counted_twice", {.lse = [](SoftmaxState s) { return s.m + std::log1p(s.l); }}},
      {"block_from_old_maximum", {.block_from_old_maximum = true}},
      {"block_from_old_maximum", {.l = LeftOut, .o = LeftOut, .block_from_old_maximum = true}},
      {"ragged_block_dropped", {.drops_last_block = true}},
      {"last_block_moved_back", {.moves_last_block_back = true}},
      {"lse_without_m", {.lse = [](SoftmaxState s) { return std::log(s.l); }}},
      {"lse_base_2", {.lse = [](SoftmaxState s) { return s.m + std::log2(s.l); }}},
      {"lse_base_2",
       {.lse = [](SoftmaxState s) { return (s.m + std::log(s.l)) / std::numbers::ln2_v<float>; }}}};
  for (const auto& [l, o] : in_either_sum(Zero))
    all.push_back({"overwritten_not_accumulated", {.l = l, .o = o}});
  for (const auto& [l, o] : in_either_sum(Inverted)) {
    for (const bool first_is_zero : {false, true})
      all.push_back({"rescale_inverted", {.l = l, .o = o, .first_factor_is_zero = first_is_zero}});
  }
  for (const auto& [l, o] : in_either_sum(ByBlockMaximum)) {
    for (const Masked masked : {SkippedAtFirst, SkippedAlways})
      all.push_back({"rescale_by_block_maximum", {.l = l, .o = o, .masked = masked}});
  }
  for (const Zeros zeros : {Zeros::WithoutMaximum, Zeros::WithoutSum}) {
    all.push_back({"m_starts_at_zero", {.start = 0.0f, .zeros = zeros}});
    for (const float start : {-1e4f, -1e9f, -1e30f})
      all.push_back({"m_starts_at_minus_1e4", {.start = start, .zeros = zeros}});
  }
  return all;
}

/// "l alone was not re-based"
std::string factor_words(const std::string& sums, Factor factor) {
  switch (factor) {
    case Factor::LeftOut:
      return sums == "l and o" ? "neither l nor o was re-based" : sums + " was not re-based";
    case Factor::Inverted:
      return sums + " were multiplied by exp(new m - old m)";
    case Factor::ByBlockMaximum:
      return sums + " were multiplied by exp(old m - the block's own maximum)";
    case Factor::Zero:
      return sums + " were set by each block";
    case Factor::Squared:
      return sums + " were multiplied by the square of exp(old m - new m), as if re-based twice";
    case Factor::Right:
      break;
  }
  return "";
}

Tensor64 maxima_of_rows(const Example& example) {
  const auto scores = example.inputs.at("scores").matrix();
  Tensor64 m({scores.rows()});
  for (Index row = 0; row < m.size(); ++row) m[row] = softmax_steps::maximum(scores.row(row));
  return m;
}

std::vector<Reading> pass_readings() {
  using enum Factor;
  std::vector<Reading> all = lse_formulas(pass_answer<double>, maxima_of_rows);
  const auto add = [&](const std::string& words, const PassSteps& steps, bool beside_name) {
    all.push_back({.words = "every answer is as if " + words,
                   .answer = [steps](const Example& example) { return pass_over_rows(steps, example); },
                   .beside_name = beside_name});
  };
  for (const Factor l : {Right, LeftOut, Inverted, ByBlockMaximum, Zero, Squared}) {
    for (const Factor o : {Right, LeftOut, Inverted, ByBlockMaximum, Zero, Squared}) {
      if (l == Right && o == Right) continue;
      const std::string words = l == o       ? factor_words("l and o", l)
                                : l == Right ? factor_words("o alone", o)
                                : o == Right ? factor_words("l alone", l)
                                             : factor_words("l", l) + ",\nand " + factor_words("o", o);
      for (const Masked masked : {Masked::SkippedAtFirst, Masked::SkippedAlways})
        add(words, {.l = l, .o = o, .masked = masked}, l == LeftOut && o == LeftOut);
    }
  }
  add("the scores of the first block each set o:\nof them the last one's value alone is left",
      {.sets_o = SetsO::FirstBlocks}, false);
  add("each score set o in place of adding to it", {.sets_o = SetsO::All}, false);
  add("l were larger by 1 in every row: the largest score counts twice",
      {.lse = [](SoftmaxState s) { return s.m + std::log1p(s.l); }}, false);
  return all;
}

Tensor near(InputGenerator& generator, float level, float step) {
  Tensor scores({4, 17});
  for (float& score : scores.values()) score = level + step * static_cast<float>(generator.integer(0, 9));
  return scores;
}

Example with_values(std::string what, Tensor scores, Tensor values, int block) {
  return {std::move(what) + ", in blocks of " + std::to_string(block),
          {{"scores", std::move(scores)}, {"values", std::move(values)}},
          {{"block", {static_cast<double>(block)}}}};
}

/// Told after all others.
Example far(Example example) {
  example.less_telling = true;
  return example;
}

/// Eight rows of a sentence encoder's real scores, with q doubled.
Example real_rows(InputGenerator& generator) {
  const int first_token = generator.integer(0, 400);
  const QKV qkv = minilm_qkv(first_token, 61, {generator.integer(0, 11)}, 2);
  return with_values("real scores, q doubled", scores_of(qkv, {0, 7, 14, 21, 28, 35, 42, 49}),
                     {{qkv.v.extent(1), qkv.v.extent(2)}, qkv.v.values()}, 16);
}

std::vector<Example> examples(InputGenerator& generator, int) {
  const auto rows = [&](std::string what, Tensor scores, int block) {
    return make_example(generator, std::move(what), std::move(scores), generator.integer(4, 9), block);
  };
  const auto ordinary = [&](Index count, Index n) { return score_rows(generator, count, n); };
  const int block = generator.integer(3, 7);
  return {
      rows("ordinary scores", ordinary(5, generator.integer(12, 30)), block),
      rows("a maximum that comes last", late_maximum_rows(generator, 5, generator.integer(16, 40)), 4),
      rows("scores near -150", near(generator, -150, 0.5), 5),
      rows("scores near -2e4", near(generator, -2e4, 0.5), 5),
      rows("scores near -1e10", near(generator, -1e10, 1024), 5),
      rows("rows that are masked, wholly or in part", masked_rows(generator, 8, generator.integer(9, 25)), 4),
      rows("rows near -2e4, -150, +2e4, and scores more than 110 apart",
           wide_rows(generator, 8, generator.integer(9, 25)), 4),
      real_rows(generator),
      rows("one score a block", ordinary(3, 11), 1),
      rows("a block longer than the row", ordinary(3, 11), 64),
      rows("one score", ordinary(3, 1), 4),
      rows("no scores", ordinary(3, 0), 4),
      rows("two scores, the second lower", {{1, 2}, {3, 1}}, 1),
      rows("scores near 95", near(generator, 95, 0.5), 5),
      far(rows("one score near -1e10, and all others far below it or masked", deciding_rows(13, -0x1p33), 4)),
      far(rows("one score near -1e38, and all others below it or masked", deciding_rows(13, -0x1p127), 4)),
      far(rows("a block whose scores are all 86 to 103 above those of the block before",
               rows_of(risen_scores(16)), 16)),
      far(rows("scores that rise by 150 or 180 in small steps", rows_of(climbing_scores()), 1)),
      far(rows("scores below 88, whose exponentials add up to more than float32 holds",
               rows_of(full_scores()), 64)),
      far(rows("scores that are all 13 below one, the first or the last", rows_of(outweighed_scores()), 64))};
}

}  // namespace

Example make_example(InputGenerator& generator, std::string what, Tensor scores, Index d, int block) {
  Tensor values = generator.normal({scores.extent(1), d});
  for (float& value : values.values()) value += 1.0f;
  return with_values(std::move(what), std::move(scores), std::move(values), block);
}

Task task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"o", {"row", "col"}}, {"lse", {"row"}}},
          .examples = examples,
          .expected = pass_answer<double>,
          .baseline = pass_answer<float>,
          .rounding = pass_rounding,
          .mistakes = mistakes_of(pass_over_rows, wrong_passes()),
          .of_family = true,
          .readings = pass_readings()};
}

}  // namespace course::online_softmax
