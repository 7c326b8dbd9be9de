#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "judge/task.hpp"
#include "ring/softmax_state.hpp"

/// Known mistakes, in float32 as a student would make them. A mistake has many faces: which sums it touches
/// and which masked cases it guards. A recipe says which; the judge lists those that keep one mistake's name.
namespace course::lesson02_mistakes {

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// What a sum that counts from m_old is multiplied by when it shall count from m_new.
enum class Factor { Right, LeftOut, Inverted, ByBlockMaximum };

inline float factor(Factor kind, float m_old, float m_new, float m_block) {
  switch (kind) {
    case Factor::LeftOut:
      return 1.0f;
    case Factor::Inverted:
      return std::exp(m_new - m_old);
    case Factor::ByBlockMaximum:
      return std::exp(m_old - m_block);
    default:
      return std::exp(m_old - m_new);
  }
}

/// Which parts that have seen nothing are looked out for before anything is computed.
enum class Guard { None, Both, Second, Either };

// Task 1

struct MergeRecipe {
  Factor a = Factor::Right;
  Factor b = Factor::Right;
  Guard guard = Guard::Both;
};

inline SoftmaxState merge(const MergeRecipe& recipe, SoftmaxState a, SoftmaxState b) {
  if (recipe.guard == Guard::Either && a.m == minus_infinity) return b;
  if (recipe.guard == Guard::Either && b.m == minus_infinity) return a;
  const float m = std::max(a.m, b.m);
  if (recipe.guard == Guard::Both && m == minus_infinity) return {};
  return {m, a.l * factor(recipe.a, a.m, m, b.m) + b.l * factor(recipe.b, b.m, m, a.m)};
}

/// Every row's states, merged from left to right as the adapter does.
inline Answer merged(const Example& example, const MergeRecipe& recipe) {
  const auto m = example.inputs.at("m").matrix();
  const auto l = example.inputs.at("l").matrix();
  Tensor lse({m.rows()});
  for (Index row = 0; row < m.rows(); ++row) {
    SoftmaxState state{m(row, 0), l(row, 0)};
    for (Index part = 1; part < m.cols(); ++part) state = merge(recipe, state, {m(row, part), l(row, part)});
    lse[row] = state.m + std::log(state.l);
  }
  return {{"lse", cast<double>(lse)}};
}

inline std::vector<Mistake> merge_mistakes() {
  std::vector<Mistake> all;
  const auto add = [&](std::string id, MergeRecipe recipe) {
    all.push_back({std::move(id), [recipe](const Example& example) { return merged(example, recipe); }});
  };
  using enum Factor;
  for (const auto& [a, b] : {std::pair{LeftOut, LeftOut}, {LeftOut, Right}, {Right, LeftOut}}) {
    add("l_not_rescaled", {a, b, Guard::Both});
  }
  for (const auto& [a, b] : {std::pair{Inverted, Inverted}, {Inverted, Right}, {Right, Inverted}}) {
    add("rescale_inverted", {a, b, Guard::Both});
    add("rescale_inverted", {a, b, Guard::Either});
  }
  add("masked_minus_masked", {Right, Right, Guard::None});
  return all;
}

// Task 2

/// Where exp(-inf - (-inf)) is avoided.
enum class Masked { SkippedAtFirst, SkippedAlways, Evaluated };
/// Which rows are given zeros in place of o / l.
enum class Zeros { WithoutMaximum, WithoutSum, Never };

struct RowRecipe {
  Factor l = Factor::Right;
  Factor o = Factor::Right;
  float start = minus_infinity;       ///< of the running maximum
  bool first_factor_is_zero = false;  ///< where nothing finite has been seen
  bool weighs_by_block_maximum = false;
  bool forgets_running_maximum = false;  ///< m becomes the block's own maximum
  bool drops_last_block = false;         ///< where it is shorter than the others
  bool divides = true;                   ///< o by l, at the end
  Masked masked = Masked::SkippedAtFirst;
  Zeros zeros = Zeros::WithoutMaximum;
  std::function<float(SoftmaxState)> lse = [](SoftmaxState state) { return state.m + std::log(state.l); };
  /// What is returned for a row that is given zeros.
  std::function<float(SoftmaxState)> empty_lse = [](SoftmaxState) { return minus_infinity; };
};

class WrongRow {
 public:
  WrongRow(const RowRecipe& recipe, std::span<float> o)
      : recipe_(recipe), o_(o), state_{recipe.start, 0.0f} {}

  void see_block(std::span<const float> scores, MatrixView<const float> values) {
    const float m_block = *std::max_element(scores.begin(), scores.end());
    const float m = recipe_.forgets_running_maximum ? m_block : std::max(state_.m, m_block);
    if (recipe_.masked == Masked::SkippedAtFirst && m == minus_infinity) return;
    if (recipe_.masked == Masked::SkippedAlways && m_block == minus_infinity) return;
    state_.l *= correction(recipe_.l, m, m_block);
    for (float& component : o_) component *= correction(recipe_.o, m, m_block);
    for (Index j = 0; j < values.rows(); ++j) {
      const float weight = std::exp(scores[j] - (recipe_.weighs_by_block_maximum ? m_block : m));
      state_.l += weight;
      for (Index c = 0; c < values.cols(); ++c) o_[c] += weight * values(j, c);
    }
    state_.m = m;
  }

  float finish() {
    const bool empty = (recipe_.zeros == Zeros::WithoutMaximum && state_.m == minus_infinity) ||
                       (recipe_.zeros == Zeros::WithoutSum && state_.l == 0.0f);
    if (empty) return recipe_.empty_lse(state_);
    if (!recipe_.divides) return recipe_.lse(state_);
    for (float& component : o_) component /= state_.l;
    return recipe_.lse(state_);
  }

 private:
  float correction(Factor kind, float m, float m_block) const {
    if (recipe_.first_factor_is_zero && state_.m == minus_infinity) return 0.0f;
    return factor(kind, state_.m, m, m_block);
  }

  const RowRecipe& recipe_;
  std::span<float> o_;
  SoftmaxState state_;
};

inline Answer attended(const Example& example, const RowRecipe& recipe) {
  const auto scores = example.inputs.at("scores").matrix();
  const auto values = example.inputs.at("values").matrix();
  const Index block = static_cast<Index>(example.arguments.at("block").front());
  Tensor o({scores.rows(), values.cols()});
  Tensor lse({scores.rows()});
  for (Index i = 0; i < scores.rows(); ++i) {
    WrongRow row(recipe, o.matrix().row(i));
    for (Index first = 0; first < scores.cols(); first += block) {
      const Index count = std::min(block, scores.cols() - first);
      if (recipe.drops_last_block && count < block) break;
      row.see_block(scores.row(i).subspan(first, count), values.rows(first, count));
    }
    lse[i] = row.finish();
  }
  return {{"o", cast<double>(o)}, {"lse", cast<double>(lse)}};
}

inline std::vector<Mistake> attention_mistakes() {
  std::vector<Mistake> all;
  const auto add = [&](std::string id, RowRecipe recipe) {
    all.push_back({std::move(id), [recipe](const Example& example) { return attended(example, recipe); }});
  };
  using enum Factor;
  add("l_not_rescaled", {.l = LeftOut});
  add("l_not_rescaled", {.l = LeftOut, .o = LeftOut});
  add("l_not_rescaled",
      {.l = LeftOut, .o = LeftOut, .weighs_by_block_maximum = true, .masked = Masked::SkippedAlways});
  add("o_not_rescaled", {.o = LeftOut});
  for (const auto& [l, o] : {std::pair{Inverted, Inverted}, {Inverted, Right}, {Right, Inverted}}) {
    add("rescale_inverted", {.l = l, .o = o});
    add("rescale_inverted", {.l = l, .o = o, .first_factor_is_zero = true});
  }
  const auto by_block = ByBlockMaximum;
  for (const auto& [l, o] : {std::pair{by_block, by_block}, {by_block, Right}, {Right, by_block}}) {
    add("rescale_by_block_maximum", {.l = l, .o = o});
    add("rescale_by_block_maximum", {.l = l, .o = o, .masked = Masked::SkippedAlways});
  }
  add("rescale_by_block_maximum", {.forgets_running_maximum = true});
  for (const Zeros zeros : {Zeros::WithoutMaximum, Zeros::WithoutSum}) {
    add("m_starts_at_zero", {.start = 0.0f, .zeros = zeros});
    add("m_starts_at_minus_1e4", {.start = -1e4f, .zeros = zeros});
    add("m_starts_at_minus_1e4", {.start = -1e9f, .zeros = zeros});
  }
  // Returned where l is 0, the start itself becomes the lse.
  const auto start_itself = [](SoftmaxState state) { return state.m; };
  add("m_starts_at_zero", {.start = 0.0f, .zeros = Zeros::WithoutSum, .empty_lse = start_itself});
  add("m_starts_at_minus_1e4", {.start = -1e4f, .zeros = Zeros::WithoutSum, .empty_lse = start_itself});
  for (const Zeros zeros : {Zeros::WithoutMaximum, Zeros::Never}) {
    add("masked_minus_masked", {.masked = Masked::Evaluated, .zeros = zeros});
  }
  add("zero_by_zero", {.zeros = Zeros::Never});
  add("final_division_missing", {.divides = false});
  add("ragged_block_dropped", {.drops_last_block = true});
  add("lse_without_m", {.lse = [](SoftmaxState state) { return std::log(state.l); }});
  add("lse_base_2", {.lse = [](SoftmaxState state) { return state.m + std::log2(state.l); }});
  add("lse_base_2",
      {.lse = [](SoftmaxState state) { return (state.m + std::log(state.l)) / std::log(2.0f); }});
  return all;
}

// Task 3

/// o becomes weight_a o + weight_b o_b.
struct Merged {
  float weight_a;
  float weight_b;
  float lse;
};

struct NormalisedRecipe {
  std::function<Merged(float lse_a, float lse_b)> merge;
  Guard guard = Guard::Second;
};

inline float sigmoid(float x) {
  return 1.0f / (1.0f + std::exp(-x));
}

/// log sigmoid(x) without overflow, as deep-learning libraries have it; -inf at -inf.
inline float log_sigmoid(float x) {
  return std::min(0.0f, x) - std::log1p(std::exp(-std::abs(x)));
}

inline float log_add_exp(float a, float b) {
  const float m = std::max(a, b);
  return m == minus_infinity ? m : m + std::log1p(std::exp(std::min(a, b) - m));
}

inline Merged guarded(const NormalisedRecipe& recipe, float lse_a, float lse_b) {
  const bool a_empty = lse_a == minus_infinity;
  const bool b_empty = lse_b == minus_infinity;
  switch (recipe.guard) {
    case Guard::Either:
      if (a_empty && !b_empty) return {0.0f, 1.0f, lse_b};
      [[fallthrough]];
    case Guard::Second:
      if (b_empty) return {1.0f, 0.0f, lse_a};
      break;
    case Guard::Both:
      if (a_empty && b_empty) return {1.0f, 0.0f, lse_a};
      break;
    default:
      break;
  }
  return recipe.merge(lse_a, lse_b);
}

inline Answer merged_normalised(const Example& example, const NormalisedRecipe& recipe) {
  Tensor o = example.inputs.at("o");
  Tensor lse = example.inputs.at("lse");
  const auto o_b = example.inputs.at("o_b").matrix();
  for (Index row = 0; row < o_b.rows(); ++row) {
    const Merged merged = guarded(recipe, lse[row], example.inputs.at("lse_b")[row]);
    for (Index c = 0; c < o_b.cols(); ++c) {
      o.matrix()(row, c) = merged.weight_a * o.matrix()(row, c) + merged.weight_b * o_b(row, c);
    }
    lse[row] = merged.lse;
  }
  return {{"o", cast<double>(o)}, {"lse", cast<double>(lse)}};
}

using MergeFunction = std::function<Merged(float, float)>;

inline std::vector<MergeFunction> swapped_sigmoids() {
  return {[](float a, float b) -> Merged {
            return {sigmoid(b - a), sigmoid(a - b), log_add_exp(a, b)};
          },
          [](float a, float b) -> Merged {
            return {sigmoid(a - b), sigmoid(b - a), a - log_sigmoid(b - a)};
          },
          [](float a, float b) -> Merged {
            return {sigmoid(b - a), sigmoid(a - b), a - log_sigmoid(b - a)};
          },
          [](float a, float b) -> Merged {
            return {sigmoid(b - a), sigmoid(a - b), a - std::log(sigmoid(b - a))};
          }};
}

inline std::vector<MergeFunction> same_sigmoid() {
  return {[](float a, float b) -> Merged {
            return {sigmoid(a - b), sigmoid(a - b), log_add_exp(a, b)};
          },
          [](float a, float b) -> Merged {
            return {sigmoid(b - a), sigmoid(b - a), log_add_exp(a, b)};
          }};
}

/// o with the weights exp(lse - new lse).
inline Merged weighed_by(float a, float b, float lse) {
  return {std::exp(a - lse), std::exp(b - lse), lse};
}

inline std::vector<MergeFunction> overflowing() {
  const auto log_1_plus = [](float a, float b) { return a + std::log(1.0f + std::exp(b - a)); };
  const auto log_sum = [](float a, float b) { return std::log(std::exp(a) + std::exp(b)); };
  return {[=](float a, float b) -> Merged {
            return {sigmoid(a - b), sigmoid(b - a), log_1_plus(a, b)};
          },
          [=](float a, float b) { return weighed_by(a, b, log_1_plus(a, b)); },
          [=](float a, float b) -> Merged {
            return {sigmoid(a - b), sigmoid(b - a), log_sum(a, b)};
          },
          [=](float a, float b) { return weighed_by(a, b, log_sum(a, b)); },
          [=](float a, float b) -> Merged {
            const float sum = std::exp(a) + std::exp(b);
            return {std::exp(a) / sum, std::exp(b) / sum, std::log(sum)};
          }};
}

inline std::vector<MergeFunction> base_2() {
  const auto log2_add_exp2 = [](float a, float b) {
    return std::max(a, b) + std::log2(1.0f + std::exp2(std::min(a, b) - std::max(a, b)));
  };
  const auto mixed = [](float a, float b) {
    return std::max(a, b) + std::log2(1.0f + std::exp(std::min(a, b) - std::max(a, b)));
  };
  const auto converted = [](float a, float b) { return log_add_exp(a, b) / std::log(2.0f); };
  return {[=](float a, float b) -> Merged {
            const float lse = log2_add_exp2(a, b);
            return {std::exp2(a - lse), std::exp2(b - lse), lse};
          },
          [=](float a, float b) -> Merged {
            return {sigmoid(a - b), sigmoid(b - a), log2_add_exp2(a, b)};
          },
          [=](float a, float b) -> Merged {
            return {sigmoid(a - b), sigmoid(b - a), mixed(a, b)};
          },
          [=](float a, float b) -> Merged {
            return {sigmoid(a - b), sigmoid(b - a), converted(a, b)};
          }};
}

inline std::vector<Mistake> normalised_mistakes() {
  std::vector<Mistake> all;
  const auto add = [&](std::string id, const std::vector<MergeFunction>& faces,
                       const std::vector<Guard>& guards) {
    for (const MergeFunction& face : faces) {
      for (const Guard guard : guards) {
        all.push_back({id, [recipe = NormalisedRecipe{face, guard}](const Example& example) {
                         return merged_normalised(example, recipe);
                       }});
      }
    }
  };
  using enum Guard;
  add("sigmoids_swapped", swapped_sigmoids(), {Both, Second, Either});
  add("same_sigmoid_twice", same_sigmoid(), {Both, Second, Either});
  add("empty_accumulator_nan",
      {[](float a, float b) -> Merged {
         return {sigmoid(a - b), sigmoid(b - a), a - log_sigmoid(a - b)};
       },
       [](float a, float b) { return weighed_by(a, b, a - log_sigmoid(a - b)); }},
      {None, Both, Second});
  add("lse_overflow", overflowing(), {None, Both, Second, Either});
  add("lse_updated_before_o",
      {[](float a, float b) -> Merged {
         const float lse = log_add_exp(a, b);
         return {sigmoid(lse - b), sigmoid(b - lse), lse};
       },
       [](float a, float b) -> Merged {
         const float lse = log_add_exp(a, b);
         return {1.0f, std::exp(b - lse), lse};
       }},
      {Both, Second, Either});
  add("lse_base_2", base_2(), {Both, Second, Either});
  return all;
}

}  // namespace course::lesson02_mistakes
