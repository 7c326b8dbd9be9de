#include "judge/softmax/state_merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "judge/diagnosis/diagnose.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/rounding.hpp"
#include "judge/softmax/pass_steps.hpp"
#include "judge/softmax/weighed_means.hpp"
#include "player/softmax_steps.hpp"
#include "text/text_file.hpp"

namespace course::state_merge {

namespace {

using namespace pass_steps;
using softmax_steps::minus_infinity;

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
  std::vector<std::string> states;
  for (std::size_t part = 0; part < m.size(); ++part)
    states.push_back(fmt::format("({:.4g}, {:.4g})", m[part], l[part]));
  return fmt::format("merge {} is of (m, l) = {}", worst, listed(states));
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

/// Two states whose m lie 8 to 15 apart. The lower one's l is large, and the other's lse small: what float32
/// rounds off it is then less than what the lower one adds. Right answers may round the lower one's lse, too.
Example outweighed_states(InputGenerator& generator) {
  Example example =
      states(generator, "two states, the lower one's m smaller by 8 to 15, its l near 60", 10, 2);
  const auto m = example.inputs.at("m").matrix(), l = example.inputs.at("l").matrix();
  for (Index row = 0; row < m.rows(); ++row) {
    constexpr float below[] = {8, 9.5, 11, 13, 15};
    const Index higher = row % 2;
    m(row, higher) = static_cast<float>(generator.uniform(0.4, 0.6));
    l(row, higher) = 1;
    m(row, 1 - higher) = m(row, higher) - below[row / 2];
    l(row, 1 - higher) = static_cast<float>(generator.uniform(55, 65));
  }
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
          states(generator, "two states near -1e10, the later one's m smaller by a quarter", 6, 2, -0x1p33,
                 -0x1p31),
          states(generator, "two states near -1e10, the later one's m larger by a quarter", 6, 2, -0x1p33,
                 0x1p31),
          states(generator, "two states near -2e38, the later one's m larger by a quarter", 6, 2, -0x1.8p127,
                 0x1p126),
          states(generator, "two states, the later one's m larger by 89", 6, 2, 0, 89),
          states(generator, "five states, each m larger by 36 than the one before", 6, 5, -70, 36),
          states(generator, "two states near -1e10, one of which has seen nothing", 6, 2, -0x1p33, 0,
                 [](Index row, Index part) { return row % 2 == part; }),
          states(generator, "two states near -1e30, one of which has seen nothing", 6, 2, -0x1p100, 0,
                 [](Index row, Index part) { return row % 2 == part; }),
          states(generator, "two states, one of which has seen nothing", 6, 2, -150, 0,
                 [](Index row, Index part) { return row % 2 == part; }),
          states(generator, "two states that have both seen nothing", 2, 2, 0, 0,
                 [](Index, Index) { return true; }),
          states(generator, "five states merged one after another, the first two of which have seen nothing",
                 5, 5, -150, 0, [](Index, Index part) { return part < 2; }),
          states(generator, "two states near 95", 6, 2, 95),
          states(generator, "two states near -95", 6, 2, -95),
          outweighed_states(generator)};
}

}  // namespace

Task task(std::string id, std::string function) {
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

}  // namespace course::state_merge
