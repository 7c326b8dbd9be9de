#include "judge/softmax/online_softmax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "judge/diagnose.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/rounding.hpp"
#include "judge/readings.hpp"
#include "judge/softmax/weighed_means.hpp"
#include "player/softmax_steps.hpp"

namespace course::online_softmax {

// Known mistakes are computed in float32 as a student would make them. A mistake has many faces: which sums
// it touches and which masked cases it guards. Steps say which; the tables list those that keep one mistake's
// name.

namespace {

using softmax_steps::minus_infinity;

/// What a sum of exp(score - m_old) is multiplied by, to make it one of exp(score - m_new).
enum class Factor { Right, LeftOut, Inverted, ByBlockMaximum, Zero, Squared };

float factor(Factor kind, float m_old, float m_new, float m_block) {
  if (kind == Factor::LeftOut) return 1.0f;
  if (kind == Factor::Zero) return 0.0f;
  if (kind == Factor::Inverted) return std::exp(m_new - m_old);
  if (kind == Factor::Squared) return std::exp(m_old - m_new) * std::exp(m_old - m_new);
  return std::exp(m_old - (kind == Factor::ByBlockMaximum ? m_block : m_new));
}

/// The factors of two sums where that of both is wrong, of the first, or of the second.
std::array<std::pair<Factor, Factor>, 3> in_either_sum(Factor wrong) {
  return {{{wrong, wrong}, {wrong, Factor::Right}, {Factor::Right, wrong}}};
}

/// Which scores set o in place of adding to it.
enum class SetsO { None, FirstBlocks, All };
/// Where exp(-inf - (-inf)) is avoided.
enum class Masked { SkippedAtFirst, SkippedAlways, Evaluated };
/// Which rows are given zeros in place of o / l.
enum class Zeros { WithoutMaximum, WithoutSum, Never };

/// The steps of one pass over a row's scores, or over states to be merged, as switches.
struct PassSteps {
  Factor l = Factor::Right;
  Factor o = Factor::Right;
  Factor block = Factor::Right;          ///< of what a block adds to l and o
  float start = minus_infinity;          ///< of the running maximum
  bool first_factor_is_zero = false;     ///< where nothing finite has been seen
  bool forgets_running_maximum = false;  ///< m becomes the block's own maximum
  bool block_from_old_maximum = false;   ///< what a block adds counts from the maximum before it
  bool skips_lower_blocks = false;       ///< those whose maximum is not above the running one
  bool rescales_o_every_score = false;   ///< once for each of a block's scores that is not masked
  bool rescales_o_when_masked = false;   ///< and for each that is
  bool drops_last_block = false;         ///< where it is shorter than the others
  bool moves_last_block_back = false;    ///< so that it is as long as the others, if there are as many scores
  bool values_from_first_row = false;    ///< every block reads them there
  bool divides_every_block = false;      ///< o by l
  bool loses_first = false;              ///< where the second of two states has seen nothing
  bool loses_second = false;             ///< where the first of two states has seen nothing
  bool divides = true;                   ///< o by l, at the end
  SetsO sets_o = SetsO::None;
  Masked masked = Masked::SkippedAtFirst;
  Zeros zeros = Zeros::WithoutMaximum;
  bool zeros_with_m = false;  ///< the lse of a row that is given zeros is m; else -inf
  float (*lse)(SoftmaxState) = softmax_steps::logsumexp;
};

/// Adds a block to the state and to o [d]: scores m, each with the sum l that it stands for, and their values
/// [n, d].
void see_block(const PassSteps& steps, std::span<const float> m, std::span<const float> l,
               MatrixView<const float> values, SoftmaxState& state, std::span<float> o) {
  const float m_block = softmax_steps::maximum(m);
  const float m_new = steps.forgets_running_maximum ? m_block : std::max(state.m, m_block);
  if (steps.masked == Masked::SkippedAtFirst && m_new == minus_infinity) return;
  if (steps.masked == Masked::SkippedAlways && m_block == minus_infinity) return;
  if (steps.skips_lower_blocks && m_block <= state.m) return;
  const auto correction = [&, m_old = state.m](Factor kind) {
    const bool is_zero = steps.first_factor_is_zero && m_old == minus_infinity;
    return is_zero ? 0.0f : factor(kind, m_old, m_new, m_block);
  };
  const float m_added = steps.block_from_old_maximum ? state.m : m_new;
  const bool sets_o = steps.sets_o == SetsO::All || (steps.sets_o == SetsO::FirstBlocks && state.l == 0.0f);
  state = {m_new, state.l * correction(steps.l)};
  const float correction_of_o = correction(steps.o);
  if (!steps.rescales_o_every_score) {
    for (float& component : o) component *= correction_of_o;
  }
  for (Index j = 0; j < values.rows(); ++j) {
    const float weight = l[j] * factor(steps.block, m[j], m_added, m_block);
    state.l += weight;
    const bool rescales =
        steps.rescales_o_every_score && (m[j] != minus_infinity || steps.rescales_o_when_masked);
    for (Index c = 0; c < values.cols(); ++c)
      o[c] = (sets_o ? 0.0f : rescales ? correction_of_o : 1.0f) * o[c] + weight * values(j, c);
  }
  for (float& component : o) component /= steps.divides_every_block ? state.l : 1.0f;
}

/// Divides o; returns lse.
float finish(const PassSteps& steps, SoftmaxState state, std::span<float> o) {
  const bool zeros = (steps.zeros == Zeros::WithoutMaximum && state.m == minus_infinity) ||
                     (steps.zeros == Zeros::WithoutSum && state.l == 0.0f);
  if (zeros) return steps.zeros_with_m ? state.m : minus_infinity;
  for (float& component : o) component /= steps.divides ? state.l : 1.0f;
  return steps.lse(state);
}

// The merge of two states. Only m + log l is compared.

/// Every row's states, merged from left to right as the adapter does.
Answer merge_rows(const PassSteps& steps, const Example& example) {
  const auto m = example.inputs.at("m").matrix();
  const auto l = example.inputs.at("l").matrix();
  const Tensor no_values({1, 0});
  Tensor lse({m.rows()});
  for (Index row = 0; row < m.rows(); ++row) {
    SoftmaxState state{m(row, 0), l(row, 0)};
    for (Index part = 1; part < m.cols(); ++part) {
      const bool is_lost = (steps.loses_second && state.m == minus_infinity) ||
                           (steps.loses_first && m(row, part) == minus_infinity);
      if (is_lost)
        state = {};
      else
        see_block(steps, m.row(row).subspan(part, 1), l.row(row).subspan(part, 1), no_values.matrix(), state,
                  {});
    }
    lse[row] = softmax_steps::logsumexp(state);
  }
  return {{"lse", cast<double>(lse)}};
}

/// "merge 3 is of (m, l) = (-inf, 0) and (1.2, 3.4)": the first that came out wrong.
std::string merged_states(const Played& played) {
  const Tensor64& expected = played.expected.at("lse");
  const std::vector<double> off = off_by(played.answer.at("lse"), expected, played.tolerance.at("lse"));
  const Index worst = std::ranges::max_element(off) - off.begin();
  const auto m = played.example->inputs.at("m").matrix().row(worst);
  const auto l = played.example->inputs.at("l").matrix().row(worst);
  std::string states;
  for (std::size_t part = 0; part < m.size(); ++part) {
    states += part == 0 ? "" : part + 1 == m.size() ? " and " : ", ";
    states += fmt::format("({:.4g}, {:.4g})", m[part], l[part]);
  }
  return fmt::format("merge {} is of (m, l) = {}", worst, states);
}

/// m + log l of all states.
Tensor64 lse_of_states(const Example& example) {
  const Tensor& m = example.inputs.at("m");
  const Tensor& l = example.inputs.at("l");
  Tensor64 lse(m.shape());
  for (Index i = 0; i < lse.size(); ++i) lse[i] = m[i] + std::log(static_cast<double>(l[i]));
  return lse;
}

template <class T>
Answer merge_answer(const Example& example) {
  return weighed(cast<T>(lse_of_states(example)), 0, [](Index, Index, Index) { return T{0}; });
}

/// A right state may be (lse, 1): an lse is rounded at every merge.
Answer merge_rounding(const Example& example) {
  const Tensor64 lse = lse_of_states(example);
  return rounding::softmax(lse, lse.extent(1));
}

std::vector<WrongSteps<PassSteps>> wrong_merges() {
  std::vector<WrongSteps<PassSteps>> all{{"masked_minus_masked", {.masked = Masked::Evaluated}},
                                         {"full_part_lost", {.loses_first = true}},
                                         {"full_part_lost", {.loses_second = true}},
                                         {"full_part_lost", {.loses_first = true, .loses_second = true}}};
  for (const Factor a : {Factor::Right, Factor::LeftOut})
    all.push_back({"block_from_old_maximum", {.l = a, .block_from_old_maximum = true}});
  for (const auto& [a, b] : in_either_sum(Factor::LeftOut))
    all.push_back({"l_not_rescaled", {.l = a, .block = b}});
  for (const auto& [a, b] : in_either_sum(Factor::Inverted)) {
    all.push_back({"rescale_inverted", {.l = a, .block = b}});
    // Some return the other state where one has seen nothing.
    all.push_back({"rescale_inverted",
                   {.l = a, .block = b, .first_factor_is_zero = true, .masked = Masked::SkippedAlways}});
  }
  return all;
}

/// What a merge may multiply a sum by.
struct MergeFactor {
  const char* of_a;  ///< in words, where it stands with a.l
  const char* of_b;
  float (*value)(float own, float other, float both);  ///< of the maxima
};

constexpr MergeFactor merge_factors[] = {
    {"exp(a.m - m)", "exp(b.m - m)", [](float own, float, float both) { return std::exp(own - both); }},
    {"exp(b.m - m)", "exp(a.m - m)", [](float, float other, float both) { return std::exp(other - both); }},
    {"exp(m - a.m)", "exp(m - b.m)", [](float own, float, float both) { return std::exp(both - own); }},
    {"exp(m - b.m)", "exp(m - a.m)", [](float, float other, float both) { return std::exp(both - other); }},
    {"exp(a.m - b.m)", "exp(b.m - a.m)", [](float own, float other, float) { return std::exp(own - other); }},
    {"exp(b.m - a.m)", "exp(a.m - b.m)", [](float own, float other, float) { return std::exp(other - own); }},
    {"exp(a.m - m)^2", "exp(b.m - m)^2",
     [](float own, float, float both) { return std::exp(own - both) * std::exp(own - both); }},
    {"exp(a.m)", "exp(b.m)", [](float own, float, float) { return std::exp(own); }},
    {"", "", [](float, float, float) { return 1.0f; }},
    {"0", "0", [](float, float, float) { return 0.0f; }}};

/// Of rows whose states have all seen something: how those who return one state as it is treat others.
std::optional<Answer> merged_by(const MergeFactor& of_a, const MergeFactor& of_b, bool smaller,
                                const Example& example) {
  const auto m = example.inputs.at("m").matrix();
  const auto l = example.inputs.at("l").matrix();
  if (std::ranges::count(example.inputs.at("m").values(), minus_infinity) > 0) return std::nullopt;
  Tensor lse({m.rows()});
  for (Index row = 0; row < m.rows(); ++row) {
    SoftmaxState a{m(row, 0), l(row, 0)};
    for (Index part = 1; part < m.cols(); ++part) {
      const float m_b = m(row, part), both = smaller ? std::min(a.m, m_b) : std::max(a.m, m_b);
      a = {both, of_a.value(a.m, m_b, both) * a.l + of_b.value(m_b, a.m, both) * l(row, part)};
    }
    lse[row] = softmax_steps::logsumexp(a);
  }
  return Answer{{"lse", cast<double>(lse)}};
}

std::vector<Reading> merge_readings() {
  std::vector<Reading> all;
  const auto term = [](const char* factor, const char* sum) {
    return std::string(factor) == "0" ? "" : factor + std::string(*factor == '\0' ? "" : " ") + sum;
  };
  for (const MergeFactor& a : merge_factors) {
    for (const MergeFactor& b : merge_factors) {
      for (const bool smaller : {false, true}) {
        const std::string of_a = term(a.of_a, "a.l"), of_b = term(b.of_b, "b.l");
        if (of_a.empty() && of_b.empty()) continue;
        const std::string sum = of_a + (of_a.empty() || of_b.empty() ? "" : " + ") + of_b;
        const std::string words =
            smaller
                ? fmt::format("every answer is as if l were {}, and m the smaller of both", sum)
                : fmt::format(
                      "every answer is as if l were {};\nit should be exp(a.m - m) a.l + exp(b.m - m) b.l",
                      sum);
        all.push_back(
            {words, [a, b, smaller](const Example& example) { return merged_by(a, b, smaller, example); }});
      }
    }
  }
  return all;
}

/// States [rows, parts] with m near `level`, each larger by about `step` than the one before. m need not be
/// the largest score seen, so l is any positive number. Those that `empty` says have seen nothing.
Example states(
    InputGenerator& generator, std::string what, Index rows, Index parts, float level = 0, float step = 0,
    bool (*empty)(Index row, Index part) = [](Index, Index) { return false; }) {
  Tensor m({rows, parts}), l({rows, parts});
  for (Index i = 0; i < m.size(); ++i)
    m[i] = level + step * static_cast<float>(i % parts) + static_cast<float>(generator.uniform(-4, 4));
  for (float& sum : l.values()) sum = static_cast<float>(std::exp(generator.uniform(-2, 4)));
  for (Index i = 0; i < m.size(); ++i) {
    if (!empty(i / parts, i % parts)) continue;
    m[i] = minus_infinity;
    l[i] = 0.0f;
  }
  return {std::move(what), {{"m", std::move(m)}, {"l", std::move(l)}}};
}

/// The same m in all parts of a row.
Example with_one_maximum(Example example) {
  const auto m = example.inputs.at("m").matrix();
  for (Index row = 0; row < m.rows(); ++row) std::ranges::fill(m.row(row), m(row, 0));
  return example;
}

std::vector<Example> merges(InputGenerator& generator, int) {
  return {states(generator, "two ordinary states", 8, 2),
          states(generator, "two states, the later one's m larger by 20", 6, 2, 0, 20),
          states(generator, "two states, the later one's m smaller by 20", 6, 2, 0, -20),
          states(generator, "two states, the later one's m larger by 120", 6, 2, 0, 120),
          states(generator, "two states, the later one's m smaller by 120", 6, 2, 0, -120),
          with_one_maximum(states(generator, "two states with the same m", 6, 2)),
          states(generator, "five states merged one after another", 6, 5),
          states(generator, "two states near -2e4", 6, 2, -2e4),
          states(generator, "two states, one of which has seen nothing", 6, 2, -150, 0,
                 [](Index row, Index part) { return row % 2 == part; }),
          states(generator, "two states that have both seen nothing", 2, 2, 0, 0,
                 [](Index, Index) { return true; }),
          states(generator, "five states merged one after another, the first two of which have seen nothing",
                 5, 5, -150, 0, [](Index, Index part) { return part < 2; })};
}

// One pass over a row, played for every row of a score matrix with the same values.

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
    for (const float start : {-1e4f, -1e9f})
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
    all.push_back({"every answer is as if " + words,
                   [steps](const Example& example) { return pass_over_rows(steps, example); }, false,
                   beside_name});
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

/// Eight rows of a sentence encoder's real scores, with q doubled.
Example real_rows(InputGenerator& generator) {
  const int first_token = generator.integer(0, 400);
  const QKV qkv = minilm_qkv(first_token, 61, {generator.integer(0, 11)}, 2);
  return with_values("real scores, q doubled", scores_of(qkv, {0, 7, 14, 21, 28, 35, 42, 49}),
                     {{qkv.v.extent(1), qkv.v.extent(2)}, qkv.v.values()}, 16);
}

std::vector<Example> passes(InputGenerator& generator, int) {
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
      rows("two scores, the second lower", {{1, 2}, {3, 1}}, 1)};
}

}  // namespace

Example make_example(InputGenerator& generator, std::string what, Tensor scores, Index d, int block) {
  Tensor values = generator.normal({scores.extent(1), d});
  for (float& value : values.values()) value += 1.0f;
  return with_values(std::move(what), std::move(scores), std::move(values), block);
}

Task merge_task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"lse", {"merge"}, 0, "(m + log l)"}},
          .examples = merges,
          .expected = merge_answer<double>,
          .baseline = merge_answer<float>,
          .rounding = merge_rounding,
          .mistakes = mistakes_of(merge_rows, wrong_merges()),
          .of_family = true,
          .explain = merged_states,
          .readings = merge_readings()};
}

Task pass_task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"o", {"row", "col"}}, {"lse", {"row"}}},
          .examples = passes,
          .expected = pass_answer<double>,
          .baseline = pass_answer<float>,
          .rounding = pass_rounding,
          .mistakes = mistakes_of(pass_over_rows, wrong_passes()),
          .of_family = true,
          .readings = pass_readings()};
}

}  // namespace course::online_softmax
