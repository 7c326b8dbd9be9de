#include "judge/softmax/row_softmax.hpp"

#include <algorithm>
#include <cmath>

#include "judge/diagnosis/readings.hpp"
#include "judge/numbers/rounding.hpp"
#include "player/softmax_steps.hpp"
#include "reference/softmax.hpp"

namespace course::row_softmax {

namespace {

using softmax_steps::maximum;
using softmax_steps::minus_infinity;

template <class T>
Answer answer(const Example& example) {
  const reference::Softmax<T> softmax = reference::softmax(cast<T>(example.inputs.at("x")));
  return {{"p", cast<double>(softmax.p)}, {"lse", cast<double>(softmax.lse)}};
}

/// The scores are inputs, and weights are made from a row's maximum, not from a rounded lse.
Answer rounding(const Example& example) {
  return rounding::softmax(cast<double>(example.inputs.at("x")), 0);
}

float standard_exp(float x) {
  return std::exp(x);
}

/// Eigen's vectorised exp with SSE or AVX2 stops at 2.9e-39: there exp(-inf) is not 0.
float eigen_exp(float x) {
  return std::exp(std::max(x, -88.723f));
}

/// What is subtracted from a row's scores.
enum class Maximum {
  OfRow,
  OfRowIfFinite,
  OfRowFromZero,
  OfMatrix,
  Zero,
  OfMagnitudes,
  OfRowsSoFar,
  WithoutFirst,
  WithoutLast,
  WithoutLastOfSeveral
};

/// A row softmax's steps as switches.
struct Steps {
  Maximum maximum = Maximum::OfRow;
  bool masked_rows_apart = true;   ///< they get zeros and -inf; else they are computed as all rows are
  bool zeros_without_sum = false;  ///< the weights of a row whose sum is 0 are 0
  float (*exponential)(float) = standard_exp;
  float epsilon = 0;               ///< added to every sum
  bool sum_unshifted = false;      ///< of exp(score)
  bool sum_reversed = false;       ///< of exp(m - score)
  bool weights_unshifted = false;  ///< exp(score) / l
  bool sum_kept = false;           ///< from one row to the next
  bool sum_truncated = false;      ///< to a whole number, after every addition
  bool divides = true;             ///< by the sum
  bool along_columns = false;
  bool weights_from_lse = false;  ///< exp(score - lse), lse in float32
  bool lse_without_m = false;
  float (*logarithm)(float) = std::log;
};

float largest_magnitude(std::span<const float> scores) {
  float m = minus_infinity;
  for (const float score : scores) m = std::max(m, std::abs(score));
  return m;
}

/// What a row is taken to be masked throughout by, where it is looked out for.
float own_maximum(const Steps& steps, const Tensor& x, Index row) {
  const std::span<const float> scores = x.matrix().row(row);
  const std::size_t all = scores.size();
  switch (steps.maximum) {
    case Maximum::OfMagnitudes:
      return largest_magnitude(scores);
    case Maximum::OfRowsSoFar:
      return maximum(std::span(x.values()).first(static_cast<std::size_t>(row + 1) * all));
    case Maximum::WithoutFirst:
      return maximum(scores.last(all == 0 ? 0 : all - 1));
    case Maximum::WithoutLast:
      return maximum(scores.first(all == 0 ? 0 : all - 1));
    case Maximum::WithoutLastOfSeveral:
      return maximum(scores.first(all < 2 ? all : all - 1));
    default:
      return maximum(scores);
  }
}

float subtracted(const Steps& steps, const Tensor& x, float row_maximum) {
  if (steps.maximum == Maximum::OfMatrix) return maximum(x.values());
  if (steps.maximum == Maximum::OfRowFromZero) return std::max(row_maximum, 0.0f);
  const bool is_masked = row_maximum == minus_infinity;
  return steps.maximum == Maximum::Zero || (steps.maximum == Maximum::OfRowIfFinite && is_masked)
             ? 0.0f
             : row_maximum;
}

Tensor transposed(const Tensor& from) {
  Tensor to({from.extent(1), from.extent(0)});
  for (Index i = 0; i < from.extent(0); ++i) {
    for (Index j = 0; j < from.extent(1); ++j) to.matrix()(j, i) = from.matrix()(i, j);
  }
  return to;
}

/// p and lse by these steps, in float32 as a submission computes them.
Answer run(const Steps& steps, const Example& example) {
  const Tensor& given = example.inputs.at("x");
  const Tensor x = steps.along_columns ? transposed(given) : given;
  Tensor p(x.shape());
  Tensor lse({x.extent(0)}, minus_infinity);
  float l = steps.epsilon;
  for (Index row = 0; row < x.extent(0); ++row) {
    const std::span<const float> scores = x.matrix().row(row);
    const float row_maximum = own_maximum(steps, x, row);
    if (steps.masked_rows_apart && row_maximum == minus_infinity) continue;
    const float m = subtracted(steps, x, row_maximum);
    if (!steps.sum_kept) l = steps.epsilon;
    for (const float score : scores) {
      const float shifted = steps.sum_reversed ? m - score : score - m;
      l += steps.exponential(steps.sum_unshifted ? score : shifted);
      if (steps.sum_truncated) l = std::trunc(l);
    }
    lse[row] = (steps.lse_without_m ? 0.0f : m) + steps.logarithm(l);
    if (steps.zeros_without_sum && l == 0.0f) continue;
    for (Index col = 0; col < x.extent(1); ++col) {
      p.matrix()(row, col) = steps.weights_from_lse
                                 ? steps.exponential(scores[col] - lse[row])
                                 : steps.exponential(scores[col] - (steps.weights_unshifted ? 0.0f : m)) /
                                       (steps.divides ? l : 1.0f);
    }
  }
  return {{"p", cast<double>(steps.along_columns ? transposed(p) : p)}, {"lse", cast<double>(lse)}};
}

/// What both tasks can get wrong.
std::vector<WrongSteps<Steps>> shared_mistakes() {
  std::vector<WrongSteps<Steps>> all{{"masked_row_nan", {.masked_rows_apart = false}},
                                     {"sum_unshifted", {.sum_unshifted = true}},
                                     {"sum_kept", {.sum_kept = true}},
                                     {"sum_in_int", {.sum_truncated = true}}};
  for (const auto exponential : {standard_exp, eigen_exp}) {
    for (const bool apart : {false, true}) {
      all.push_back(
          {"no_maximum", {.maximum = Maximum::Zero, .masked_rows_apart = apart, .exponential = exponential}});
      all.push_back({"global_maximum",
                     {.maximum = Maximum::OfMatrix, .masked_rows_apart = apart, .exponential = exponential}});
      for (const bool zeros : {false, true})
        all.push_back({"m_starts_at_zero", {Maximum::OfRowFromZero, apart, zeros, exponential}});
    }
  }
  for (const float epsilon : {1e-12f, 1e-10f, 1e-9f, 1e-8f, 1e-7f, 1e-6f, 1e-5f, 1e-4f, 1e-3f})
    all.push_back({"epsilon_in_denominator",
                   {.maximum = Maximum::OfRowIfFinite, .masked_rows_apart = false, .epsilon = epsilon}});
  return all;
}

Tensor64 maxima(const Example& example) {
  const Tensor& x = example.inputs.at("x");
  Tensor64 m({x.extent(0)});
  for (Index row = 0; row < m.size(); ++row) m[row] = maximum(x.matrix().row(row));
  return m;
}

/// Another maximum, which shows where exponentials leave float32's range, or in a masked row.
std::vector<Reading> other_readings() {
  std::vector<Reading> all;
  const auto add = [&](const char* words, const Steps& steps) {
    all.push_back({words, [steps](const Example& example) { return run(steps, example); }});
  };
  constexpr std::pair<Maximum, const char*> maxima[] = {
      {Maximum::OfMagnitudes,
       "every answer is as if m were the largest |score| of the row, +inf where one is masked"},
      {Maximum::OfRowsSoFar,
       "every answer is as if m were kept from row to row:\nthe largest score of a row and of all before it"},
      {Maximum::WithoutFirst, "every answer is as if the maximum left out the first column"},
      {Maximum::WithoutLast, "every answer is as if the maximum left out the last column"},
      {Maximum::WithoutLastOfSeveral, "every answer is as if the maximum left out the last column"}};
  for (const auto& [kind, words] : maxima) {
    for (const bool apart : {true, false}) add(words, {.maximum = kind, .masked_rows_apart = apart});
  }
  add("every answer is as if l were larger by 1 in every row:\nit starts at 1, or the largest score counts "
      "twice",
      {.epsilon = 1});
  for (const bool apart : {true, false}) {
    add("every answer is as if m were subtracted in l and not in the weights: exp(score) / l",
        {.masked_rows_apart = apart, .weights_unshifted = true});
    add("every answer is as if l were a sum of exp(m - score): the exponent has the wrong sign",
        {.masked_rows_apart = apart, .sum_reversed = true});
  }
  return all;
}

/// Every row followed by itself.
Tensor twice(const Tensor& x) {
  const Index cols = x.extent(1);
  Tensor both({x.extent(0), 2 * cols});
  for (Index row = 0; row < x.extent(0); ++row) {
    for (Index col = 0; col < 2 * cols; ++col) both.matrix()(row, col) = x.matrix()(row, col % cols);
  }
  return both;
}

/// How many scores of a row lie between these two; all others are far below.
struct Largest {
  Index count;
  double low, high;
};

/// In each row some scores, none of whose exponentials overflows, though their sum does.
Tensor full_rows(InputGenerator& generator) {
  constexpr Index cols = 128;
  constexpr Largest of_rows[] = {{cols, 84, 84.5}, {8, 86.8, 87}, {3, 87.8, 87.9}, {cols, 86, 88.5}};
  Tensor x = score_rows(generator, std::ssize(of_rows), cols);
  for (Index row = 0; row < x.extent(0); ++row) {
    const auto [count, low, high] = of_rows[row];
    for (float& score : x.matrix().row(row).last(static_cast<std::size_t>(count)))
      score = static_cast<float>(generator.uniform(low, high));
  }
  return x;
}

/// Exponentials are infinite in even rows; in odd ones they are so small that float32 has few digits of them.
Tensor far_rows(InputGenerator& generator, Index cols) {
  Tensor x({4, cols});
  for (Index i = 0; i < x.size(); ++i) {
    const bool is_even = i / cols % 2 == 0;
    x[i] = static_cast<float>(is_even ? generator.uniform(90, 100) : generator.uniform(-103, -99));
  }
  return x;
}

std::vector<Example> examples(InputGenerator& generator, int) {
  const int rows = generator.integer(2, 9);
  // Rows that fill whole vector registers: what is left over, Eigen hands to std::exp, where exp(-inf) is 0.
  const int whole = 16 * generator.integer(1, 2);
  return {
      make_example("ordinary scores", score_rows(generator, rows, generator.integer(2, 40))),
      make_example("rows that are masked, wholly or in part", masked_rows(generator, 8, whole)),
      make_example("rows near -2e4, -150, +2e4, and scores more than 110 apart",
                   wide_rows(generator, 8, whole)),
      make_example("one score near -1e10, and all others far below it or masked", deciding_rows(40, -0x1p33)),
      make_example("one score near -1e38, and all others below it or masked", deciding_rows(40, -0x1p127)),
      make_example("a maximum that comes last", late_maximum_rows(generator, 5, generator.integer(5, 60))),
      make_example("a largest score that comes twice", twice(score_rows(generator, 4, 9))),
      make_example("few columns, masked wholly or in part",
                   masked_rows(generator, 8, generator.integer(2, 7))),
      make_example("one column", score_rows(generator, 4, 1)),
      make_example("no columns", Tensor({3, 0})),
      make_example("no rows", Tensor({0, 5})),
      make_example("rows near 84 to 88, whose exponentials add up to more than float32 holds",
                   full_rows(generator)),
      make_example("rows near 95 and near -100", far_rows(generator, whole))};
}

Task task(std::string id, std::string function, Output output, const std::vector<WrongSteps<Steps>>& wrong) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {std::move(output)},
          .examples = examples,
          .expected = answer<double>,
          .baseline = answer<float>,
          .rounding = rounding,
          .mistakes = mistakes_of(run, wrong),
          .of_family = true,
          .readings = other_readings()};
}

}  // namespace

Example make_example(std::string what, Tensor x) {
  return {std::move(what), {{"x", std::move(x)}}};
}

Task softmax_task(std::string id, std::string function) {
  std::vector<WrongSteps<Steps>> wrong = shared_mistakes();
  wrong.push_back({"along_columns", {.along_columns = true}});
  wrong.push_back({"weights_from_rounded_lse", {.weights_from_lse = true}});
  wrong.push_back({"final_division_missing", {.divides = false}});
  return task(std::move(id), std::move(function), {"p", {"row", "col"}}, wrong);
}

Task logsumexp_task(std::string id, std::string function) {
  std::vector<WrongSteps<Steps>> wrong = shared_mistakes();
  wrong.push_back({"lse_without_m", {.lse_without_m = true}});
  wrong.push_back({"lse_base_2", {.logarithm = std::log2}});
  wrong.push_back({"largest_counted_twice", {.logarithm = std::log1p}});
  Task logsumexp = task(std::move(id), std::move(function), {"lse", {"row"}}, wrong);
  std::ranges::move(lse_formulas(answer<double>, maxima), std::back_inserter(logsumexp.readings));
  return logsumexp;
}

}  // namespace course::row_softmax
