#include "judge/softmax/output_merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "judge/diagnosis/diagnose.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/rounding.hpp"
#include "judge/softmax/weighed_means.hpp"
#include "player/softmax_steps.hpp"

namespace course::output_merge {

namespace {

using softmax_steps::minus_infinity;

/// What o and o_b are multiplied by.
using Weights = std::pair<float, float>;

/// Which parts that have seen nothing are looked out for before anything is computed.
enum class Guard { None, Both, First, Second, Either };

struct OutputSteps {
  Weights (*weights)(float a, float b, float lse);  ///< from the parts' lse and that of both
  float (*lse)(float a, float b);
  Guard guard;
  bool lse_before_o = false;  ///< the first part's lse is that of both by the time that o is merged
  bool loses_o = false;       ///< where the first part has seen nothing, the second's o
  bool loses_lse = false;     ///< where the first part has seen nothing, the second's lse
};

Answer merge_outputs(const OutputSteps& steps, const Example& example) {
  Tensor o = example.inputs.at("o");
  Tensor lse = example.inputs.at("lse");
  const auto o_b = example.inputs.at("o_b").matrix();
  for (Index row = 0; row < o_b.rows(); ++row) {
    const float a = lse[row], b = example.inputs.at("lse_b")[row];
    const bool a_is_empty = a == minus_infinity, b_is_empty = b == minus_infinity;
    const bool skips_b = steps.guard == Guard::Second || steps.guard == Guard::Either ||
                         (steps.guard == Guard::Both && a_is_empty);
    if (b_is_empty && skips_b) continue;
    const bool takes_b = a_is_empty && (steps.guard == Guard::First || steps.guard == Guard::Either);
    lse[row] = !takes_b ? steps.lse(a, b) : steps.loses_lse ? a : b;
    const auto [weight_a, weight_b] = !takes_b ? steps.weights(steps.lse_before_o ? lse[row] : a, b, lse[row])
                                      : steps.loses_o ? Weights{1.0f, 0.0f}
                                                      : Weights{0.0f, 1.0f};
    for (Index c = 0; c < o_b.cols(); ++c)
      o.matrix()(row, c) = weight_a * o.matrix()(row, c) + weight_b * o_b(row, c);
  }
  return {{"o", cast<double>(o)}, {"lse", cast<double>(lse)}};
}

/// The lse of both parts of each row, [rows, 2].
template <class T>
TensorOf<T> lse_of_parts(const Example& example) {
  TensorOf<T> lse({example.inputs.at("lse").extent(0), 2});
  for (Index row = 0; row < lse.extent(0); ++row) {
    lse.matrix()(row, 0) = example.inputs.at("lse")[row];
    lse.matrix()(row, 1) = example.inputs.at("lse_b")[row];
  }
  return lse;
}

template <class T>
Answer output_answer(const Example& example) {
  const TensorOf<T> o[] = {cast<T>(example.inputs.at("o")), cast<T>(example.inputs.at("o_b"))};
  return weighed(lse_of_parts<T>(example), o[0].extent(1),
                 [&](Index row, Index part, Index c) { return o[part].matrix()(row, c); });
}

/// A weight exp(lse_b - lse of both) is right as well, though the latter is rounded: each of two such weights
/// is then off by one factor, and o + w (o_b - o), which has the one, by that factor of w (o_b - o).
Answer output_rounding(const Example& example) {
  const Tensor64 lse = lse_of_parts<double>(example);
  const Tensor64 parts[] = {cast<double>(example.inputs.at("o")), cast<double>(example.inputs.at("o_b"))};
  Tensor64 o(parts[0].shape());
  for (Index row = 0; row < o.extent(0); ++row) {
    Tensor64 values({2, o.extent(1)});
    for (const Index part : {0, 1})
      std::ranges::copy(parts[part].matrix().row(row), values.matrix().row(part).begin());
    const rounding::Weights weights = rounding::weights(lse.matrix().row(row), {}, 1);
    rounding::write_mean(weights, values.matrix(), o.matrix().row(row));
    if (weights.p[0] == 0 || weights.p[1] == 0) continue;
    const double of_weight = weights.p[1] * std::sqrt(rounding::of(weights.lse));
    for (Index c = 0; c < o.extent(1); ++c) {
      double& off = o.matrix()(row, c);
      off = std::hypot(off, of_weight * (values.matrix()(1, c) - values.matrix()(0, c)));
    }
  }
  return {{"o", std::move(o)}, {"lse", rounding::softmax(lse, 1).at("lse")}};
}

float sigmoid(float x) {
  return 1.0f / (1.0f + std::exp(-x));
}

/// log sigmoid(x) without overflow, as deep-learning libraries have it; -inf at -inf.
float log_sigmoid(float x) {
  return std::min(0.0f, x) - std::log1p(std::exp(-std::abs(x)));
}

float log_add_exp(float a, float b) {
  const float m = std::max(a, b);
  return m == minus_infinity ? m : m + std::log1p(std::exp(std::min(a, b) - m));
}

/// NaN where both are -inf.
float log_add_exp_unguarded(float a, float b) {
  const float m = std::max(a, b);
  return m + std::log1p(std::exp(std::min(a, b) - m));
}

float max_plus_log2(float a, float b, float x) {
  return std::max(a, b) + std::log2(1.0f + x);
}

std::vector<WrongSteps<OutputSteps>> wrong_output_merges() {
  const auto sigmoids = [](float a, float b, float) { return Weights{sigmoid(a - b), sigmoid(b - a)}; };
  const auto swapped = [](float a, float b, float) { return Weights{sigmoid(b - a), sigmoid(a - b)}; };
  const auto first_twice = [](float a, float b, float) { return Weights{sigmoid(a - b), sigmoid(a - b)}; };
  const auto second_twice = [](float a, float b, float) { return Weights{sigmoid(b - a), sigmoid(b - a)}; };
  const auto by_lse = [](float a, float b, float lse) {
    return Weights{std::exp(a - lse), std::exp(b - lse)};
  };
  const auto by_lse_2 = [](float a, float b, float lse) {
    return Weights{std::exp2(a - lse), std::exp2(b - lse)};
  };
  const auto by_maximum = [](float a, float b, float) {
    return Weights{std::exp(a - std::max(a, b)), std::exp(b - std::max(a, b))};
  };
  const auto halves = [](float, float, float) { return Weights{0.5f, 0.5f}; };
  const auto larger = [](float a, float b) { return std::max(a, b); };
  const auto both = [](float a, float b) { return a + b; };
  const auto by_sum = [](float a, float b, float) {
    const float sum = std::exp(a) + std::exp(b);
    return Weights{std::exp(a) / sum, std::exp(b) / sum};
  };
  const auto less_own_share = [](float a, float b) { return a - log_sigmoid(a - b); };
  const auto less_other_share = [](float a, float b) { return a - log_sigmoid(b - a); };
  const auto less_own_share_of_b = [](float a, float b) { return b - log_sigmoid(b - a); };
  const auto less_log_of_share = [](float a, float b) { return a - std::log(sigmoid(b - a)); };
  const auto log_1_plus = [](float a, float b) { return a + std::log(1.0f + std::exp(b - a)); };
  const auto log_sum = [](float a, float b) { return std::log(std::exp(a) + std::exp(b)); };
  const auto log_2_plus = [](float a, float b) {
    return std::max(a, b) + std::log1p(1.0f + std::exp(-std::abs(a - b)));
  };
  const auto base_2 = [](float a, float b) { return max_plus_log2(a, b, std::exp2(-std::abs(a - b))); };
  const auto mixed = [](float a, float b) { return max_plus_log2(a, b, std::exp(-std::abs(a - b))); };
  const auto converted = [](float a, float b) { return log_add_exp(a, b) / std::numbers::ln2_v<float>; };
  using enum Guard;
  std::vector<WrongSteps<OutputSteps>> all;
  for (const Guard guard : {Both, Second, Either}) {
    all.insert(all.end(), {{"sigmoids_swapped", {swapped, log_add_exp, guard}},
                           {"sigmoids_swapped", {sigmoids, less_other_share, guard}},
                           {"sigmoids_swapped", {swapped, less_other_share, guard}},
                           {"sigmoids_swapped", {swapped, less_log_of_share, guard}},
                           {"weights_not_normalised", {by_maximum, log_add_exp, guard}},
                           {"parts_averaged", {halves, log_add_exp, guard}},
                           {"lse_not_merged", {sigmoids, larger, guard}},
                           {"largest_counted_twice", {sigmoids, log_2_plus, guard}},
                           {"lse_not_merged", {sigmoids, both, guard}},
                           {"same_sigmoid_twice", {first_twice, log_add_exp, guard}},
                           {"same_sigmoid_twice", {second_twice, log_add_exp, guard}},
                           {"lse_updated_before_o", {sigmoids, log_add_exp, guard, true}},
                           {"lse_updated_before_o", {by_lse, log_add_exp, guard, true}},
                           {"lse_base_2", {by_lse_2, base_2, guard}},
                           {"lse_base_2", {sigmoids, base_2, guard}},
                           {"lse_base_2", {sigmoids, mixed, guard}},
                           {"lse_base_2", {sigmoids, converted, guard}}});
  }
  for (const auto lse : {log_add_exp, log_add_exp_unguarded}) {
    all.insert(all.end(),
               {{"both_empty_nan", {sigmoids, lse, None}}, {"both_empty_nan", {by_lse, lse, None}}});
  }
  for (const Guard guard : {None, Both, First}) {
    all.insert(all.end(), {{"empty_part_nan", {sigmoids, less_own_share_of_b, guard}},
                           {"empty_part_nan", {by_lse, less_own_share_of_b, guard}}});
  }
  for (const auto& [o, lse] : {std::pair(true, true), std::pair(true, false), std::pair(false, true)})
    all.push_back({"full_part_lost", {sigmoids, log_add_exp, Either, false, o, lse}});
  for (const Guard guard : {None, Both, Second}) {
    all.insert(all.end(), {{"empty_accumulator_nan", {sigmoids, less_own_share, guard}},
                           {"empty_accumulator_nan", {by_lse, less_own_share, guard}}});
  }
  for (const Guard guard : {None, Both, Second, Either}) {
    all.insert(all.end(), {{"lse_overflow", {sigmoids, log_1_plus, guard}},
                           {"lse_overflow", {by_lse, log_1_plus, guard}},
                           {"lse_overflow", {sigmoids, log_sum, guard}},
                           {"lse_overflow", {by_lse, log_sum, guard}},
                           {"lse_overflow", {by_sum, log_sum, guard}}});
  }
  return all;
}

/// A number made of the lse of both parts, in words.
struct OfParts {
  const char* words;
  float (*value)(float a, float b);
};

constexpr OfParts weights_of_a[] = {
    {"sigmoid(lse - lse_b)", [](float a, float b) { return sigmoid(a - b); }},
    {"sigmoid(lse_b - lse)", [](float a, float b) { return sigmoid(b - a); }},
    {"(1 + sigmoid(lse - lse_b))", [](float a, float b) { return 1.0f + sigmoid(a - b); }},
    {"(1 + sigmoid(lse_b - lse))", [](float a, float b) { return 1.0f + sigmoid(b - a); }},
    {"-sigmoid(lse - lse_b)", [](float a, float b) { return -sigmoid(a - b); }},
    {"-sigmoid(lse_b - lse)", [](float a, float b) { return -sigmoid(b - a); }},
    {"lse/(lse + lse_b)", [](float a, float b) { return a / (a + b); }},
    {"lse_b/(lse + lse_b)", [](float a, float b) { return b / (a + b); }},
    {"lse", [](float a, float) { return a; }},
    {"lse_b", [](float, float b) { return b; }},
    {"exp(lse - lse_b)", [](float a, float b) { return std::exp(a - b); }},
    {"exp(lse_b - lse)", [](float a, float b) { return std::exp(b - a); }},
    {"1", [](float, float) { return 1.0f; }},
    {"0", [](float, float) { return 0.0f; }},
    {"0.5", [](float, float) { return 0.5f; }}};

constexpr OfParts lse_of_both[] = {
    {"max + log1p(exp(min - max))", log_add_exp},
    {"max + log1p(exp(max - min))",
     [](float a, float b) { return std::max(a, b) + std::log1p(std::exp(std::abs(a - b))); }},
    {"min + log1p(exp(min - max))",
     [](float a, float b) { return std::min(a, b) + std::log1p(std::exp(-std::abs(a - b))); }},
    {"min + log1p(exp(max - min))",
     [](float a, float b) { return std::min(a, b) + std::log1p(std::exp(std::abs(a - b))); }},
    {"max - log1p(exp(min - max))",
     [](float a, float b) { return std::max(a, b) - std::log1p(std::exp(-std::abs(a - b))); }},
    {"max + exp(min - max)", [](float a, float b) { return std::max(a, b) + std::exp(-std::abs(a - b)); }},
    {"log1p(exp(min - max))", [](float a, float b) { return std::log1p(std::exp(-std::abs(a - b))); }},
    {"lse + log1p(exp(lse - lse_b))", [](float a, float b) { return a + std::log1p(std::exp(a - b)); }},
    {"lse_b + log1p(exp(lse_b - lse))", [](float a, float b) { return b + std::log1p(std::exp(b - a)); }},
    {"lse + log1p(exp(lse_b))", [](float a, float b) { return a + std::log1p(std::exp(b)); }},
    {"the mean of both", [](float a, float b) { return (a + b) / 2; }},
    {"lse", [](float a, float) { return a; }},
    {"lse_b", [](float, float b) { return b; }}};

/// Of parts that have both seen something: how those who return one part as it is treat others.
std::optional<Answer> merged_by(const OfParts& of_a, const OfParts& of_b, const OfParts& lse_of,
                                const Example& example) {
  const Tensor &lse_a = example.inputs.at("lse"), &lse_b = example.inputs.at("lse_b");
  for (const Tensor* lse : {&lse_a, &lse_b}) {
    if (std::ranges::count(lse->values(), minus_infinity) > 0) return std::nullopt;
  }
  Tensor o = example.inputs.at("o"), lse = lse_a;
  for (Index row = 0; row < lse.size(); ++row) {
    const float a = lse_a[row], b = lse_b[row];
    for (Index c = 0; c < o.extent(1); ++c) {
      o.matrix()(row, c) = of_a.value(a, b) * o.matrix()(row, c) +
                           of_b.value(a, b) * example.inputs.at("o_b").matrix()(row, c);
    }
    lse[row] = lse_of.value(a, b);
  }
  return Answer{{"o", cast<double>(o)}, {"lse", cast<double>(lse)}};
}

std::vector<Reading> merge_readings() {
  std::vector<Reading> all;
  const OfParts &right_a = weights_of_a[0], &right_b = weights_of_a[1], &right_lse = lse_of_both[0];
  const auto add = [&](std::string words, const OfParts& a, const OfParts& b, const OfParts& lse) {
    all.push_back({"every answer is as if " + std::move(words),
                   [=](const Example& example) { return merged_by(a, b, lse, example); }});
  };
  for (const OfParts& a : weights_of_a) {
    for (const OfParts& b : weights_of_a) {
      const std::string_view of_b = b.words;
      add(fmt::format("the new o were {} o {} o_b;\nit should be {} o + {} o_b", a.words,
                      of_b.starts_with('-') ? fmt::format("- {}", of_b.substr(1)) : fmt::format("+ {}", of_b),
                      right_a.words, right_b.words),
          a, b, right_lse);
    }
  }
  for (const OfParts& lse : lse_of_both)
    add(fmt::format("the new lse were {};\nit should be {}", lse.words, right_lse.words), right_a, right_b,
        lse);
  return all;
}

/// "row 2 weighs o by 0.31 and o_b by 0.88; it should be 0.12 and 0.88": of the row that is most wrong, if
/// any two weights explain it.
std::string weights_of_worst_row(const Played& shown, const std::vector<Played>&) {
  if (shown.answer.empty()) return "";
  const Tensor64 o = cast<double>(shown.example->inputs.at("o"));
  const Tensor64 o_b = cast<double>(shown.example->inputs.at("o_b"));
  const Tensor64 &given = shown.answer.at("o"), &right = shown.expected.at("o");
  const std::vector<double> off = off_by(given, right, shown.tolerance.at("o"));
  const Index row = (std::ranges::max_element(off) - off.begin()) / o.extent(1);
  if (o.extent(1) < 3 || off[std::ranges::max_element(off) - off.begin()] == 0) return "";
  // Least squares of two weights.
  double aa = 0, ab = 0, bb = 0, ga = 0, gb = 0, gg = 0;
  for (Index c = 0; c < o.extent(1); ++c) {
    const double a = o.matrix()(row, c), b = o_b.matrix()(row, c), g = given.matrix()(row, c);
    aa += a * a, ab += a * b, bb += b * b, ga += g * a, gb += g * b, gg += g * g;
  }
  const double determinant = aa * bb - ab * ab;
  if (!(determinant > 1e-6 * aa * bb)) return "";
  const double w = (ga * bb - gb * ab) / determinant, w_b = (gb * aa - ga * ab) / determinant;
  double rest = 0;
  for (Index c = 0; c < o.extent(1); ++c)
    rest += std::pow(given.matrix()(row, c) - w * o.matrix()(row, c) - w_b * o_b.matrix()(row, c), 2);
  if (!(std::sqrt(rest / gg) < 1e-4)) return "";
  const float a = shown.example->inputs.at("lse")[row], b = shown.example->inputs.at("lse_b")[row];
  return fmt::format("row {} weighs o by {:.3g} and o_b by {:.3g}; that should be {:.3g} and {:.3g}", row, w,
                     w_b, sigmoid(a - b), sigmoid(b - a));
}

Tensor lse_near(InputGenerator& generator, Index rows, float level) {
  Tensor lse({rows});
  for (float& value : lse.values()) value = level + static_cast<float>(generator.uniform(-2, 2));
  return lse;
}

/// Two parts of 6 rows, with lse near `level_a` and `level_b`. At -inf a part has seen nothing: its o is 0.
Example parts(InputGenerator& generator, std::string what, float level_a, float level_b) {
  const Shape shape{6, generator.integer(4, 9)};
  const auto o_at = [&](float level) {
    return level == minus_infinity ? Tensor(shape) : generator.normal(shape);
  };
  return {std::move(what),
          {{"o", o_at(level_a)},
           {"lse", lse_near(generator, 6, level_a)},
           {"o_b", o_at(level_b)},
           {"lse_b", lse_near(generator, 6, level_b)}}};
}

Example equal_parts(InputGenerator& generator) {
  Example example = parts(generator, "two parts of equal lse", 1, 1);
  example.inputs["lse_b"] = example.inputs["lse"];
  return example;
}

/// The lse of one part 8 to 15 below the other's, which is small, and its o larger: what float32 rounds off
/// is then less than what that part adds. Right answers may round the lower lse, too.
Example outweighed_part(Example example, const std::string& lse, const std::string& o) {
  constexpr float below[] = {8, 9.5, 11, 12, 13, 15};
  for (const char* either : {"lse", "lse_b"}) {
    for (float& value : example.inputs.at(either).values()) value = 0.5f + value / 20;
  }
  for (Index row = 0; row < 6; ++row) example.inputs.at(lse)[row] -= below[row];
  for (float& value : example.inputs.at(o).values()) value *= 6;
  return example;
}

/// In every second row both lse lie from 88.1 to 88.6: either one's exponential is finite, their sum is not.
Example near_88(Example example) {
  for (const char* lse : {"lse", "lse_b"}) {
    Tensor& values = example.inputs.at(lse);
    for (Index row = 0; row < 6; row += 2) values[row] = 88.35f + (values[row] - 95) / 8;
  }
  return example;
}

std::vector<Example> merges_of_outputs(InputGenerator& generator, int) {
  return {
      parts(generator, "two ordinary parts", 1, 2),
      equal_parts(generator),
      parts(generator, "two parts, the later one's lse larger by 20", 3, 23),
      parts(generator, "two parts, the later one's lse larger by 120", 3, 123),
      parts(generator, "two parts, the later one's lse smaller by 120", 3, -117),
      parts(generator, "two parts, lse near -150", -150, -150),
      parts(generator, "two parts, lse near +2e4", 2e4, 2e4),
      parts(generator, "two parts, lse near -2e4", -2e4, -2e4),
      parts(generator, "two parts near -1e10, the later one's lse larger by a quarter", -0x1.4p33, -0x1p33),
      parts(generator, "two parts near -1e10, the later one's lse smaller by a quarter", -0x1p33, -0x1.4p33),
      parts(generator, "an accumulator that has seen nothing", minus_infinity, 1),
      parts(generator, "a later part that has seen nothing", 1, minus_infinity),
      parts(generator, "an accumulator that has seen nothing, and a later part near -1e30", minus_infinity,
            -0x1p100),
      parts(generator, "a part near -1e30, and a later one that has seen nothing", -0x1p100, minus_infinity),
      parts(generator, "two parts that have both seen nothing", minus_infinity, minus_infinity),
      outweighed_part(parts(generator, "two parts, the later one's lse larger by 8 to 15", 0, 0), "lse", "o"),
      outweighed_part(parts(generator, "two parts, the later one's lse smaller by 8 to 15", 0, 0), "lse_b",
                      "o_b"),
      near_88(parts(generator, "two parts, lse near 88 and 95", 95, 95)),
      parts(generator, "two parts, lse near -95", -95, -95)};
}

}  // namespace

Task task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"o", {"row", "col"}}, {"lse", {"row"}}},
          .examples = merges_of_outputs,
          .expected = output_answer<double>,
          .baseline = output_answer<float>,
          .rounding = output_rounding,
          .mistakes = mistakes_of(merge_outputs, wrong_output_merges()),
          .of_family = true,
          .readings = merge_readings(),
          .look = weights_of_worst_row};
}

}  // namespace course::output_merge
