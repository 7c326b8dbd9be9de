#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>

#include "judge/diagnosis/diagnose.hpp"
#include "judge/numbers/precision.hpp"
#include "judge/parallel.hpp"

namespace course {

namespace {

/// A way to change an example; gives nothing where the example does not admit it.
using Change = std::function<std::optional<Example>(const Example&)>;

struct Hypothesis {
  std::string words;
  Change change;
  Answer (*written)(Answer) = nullptr;  ///< what becomes of the expected answer
};

/// The number of keys in attention's inputs, 0 in any others.
Index keys_of(const Example& example) {
  const auto k = example.inputs.find("k");
  const auto v = example.inputs.find("v");
  if (k == example.inputs.end() || v == example.inputs.end()) return 0;
  if (k->second.rank() != 3 || v->second.rank() != 3 || k->second.extent(1) != v->second.extent(1)) return 0;
  return k->second.extent(1);
}

/// A copy for which everything has to be worked out anew.
Example to_change(Example example) {
  example.worked = nullptr;
  return example;
}

/// Nothing where none would be left out.
std::optional<Example> without(const std::vector<Index>& keys, const Example& example) {
  std::vector<Index> kept;
  for (Index key = 0; key < keys_of(example); ++key) {
    if (std::ranges::find(keys, key) == keys.end()) kept.push_back(key);
  }
  if (std::ssize(kept) == keys_of(example)) return std::nullopt;
  Example changed = to_change(example);
  for (const char* name : {"k", "v"}) changed.inputs[name] = take(example.inputs.at(name), 1, kept);
  return changed;
}

std::optional<Example> without_last(const Example& example) {
  return without({keys_of(example) - 1}, example);
}

std::optional<Example> without_first(const Example& example) {
  return without({0}, example);
}

std::optional<Example> without_last_of_every_shard(const Example& example) {
  const Layout& layout = example.layout;
  if (layout.ranks() == 0 || layout.tokens() != keys_of(example)) return std::nullopt;
  std::vector<Index> last;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    if (layout.tokens(rank) > 0) last.push_back(layout.positions(rank).back());
  }
  return without(last, example);
}

// Inputs that are scores: each row's along the last axis.

const char* scores_input(const Example& example) {
  for (const char* name : {"x", "scores"}) {
    if (example.inputs.contains(name)) return name;
  }
  return nullptr;
}

/// `masks` says which of a row's scores, of which there are some, become -inf.
Change masking(std::function<std::vector<Index>(const Example&, std::span<const float> row)> masks) {
  return [masks = std::move(masks)](const Example& example) -> std::optional<Example> {
    const char* const name = scores_input(example);
    if (name == nullptr || example.inputs.at(name).rank() > 2) return std::nullopt;
    Example changed = to_change(example);
    Tensor& scores = changed.inputs[name];
    const Index count = scores.shape().back();
    for (Index first = 0; count > 0 && first < scores.size(); first += count) {
      const std::span<float> row = std::span(scores.values()).subspan(first, count);
      for (const Index masked : masks(example, row)) row[masked] = -std::numeric_limits<float>::infinity();
    }
    return changed;
  };
}

/// The last one that each rank has, or the first.
Change masking_of_shards(bool last) {
  return masking([last](const Example& example, std::span<const float> row) {
    std::vector<Index> ends;
    const Layout& layout = example.layout;
    for (int rank = 0; rank < layout.ranks() && layout.tokens() == std::ssize(row); ++rank) {
      if (layout.tokens(rank) == 0) continue;
      ends.push_back(last ? layout.positions(rank).back() : layout.positions(rank).front());
    }
    return ends;
  });
}

/// Those after a masked one in its block of `block` scores.
std::vector<Index> after_masked(std::span<const float> row, Index block) {
  std::vector<Index> all;
  bool masked = false;
  for (Index i = 0; i < std::ssize(row); ++i) {
    if (i % block == 0) masked = false;
    if (masked) all.push_back(i);
    masked |= std::isinf(row[i]);
  }
  return all;
}

/// The largest difference that scores can have: of attention's, by Cauchy and Schwarz.
double largest_difference(const Example& example) {
  const auto largest_norm = [&](const char* name) {
    const Tensor& tensor = example.inputs.at(name);
    const Index columns = std::max<Index>(1, tensor.shape().back());
    double largest = 0;
    for (Index first = 0; first < tensor.size(); first += columns) {
      double squares = 0;
      for (Index i = first; i < first + columns; ++i) squares += std::pow(tensor[i], 2);
      largest = std::max(largest, squares);
    }
    return std::sqrt(largest / static_cast<double>(columns));
  };
  if (keys_of(example) > 0 && example.inputs.contains("q"))
    return 2 * largest_norm("q") * largest_norm("k") * std::sqrt(example.inputs.at("k").extent(2));
  const char* const name = scores_input(example);
  if (name == nullptr || example.inputs.at(name).size() == 0) return std::numeric_limits<double>::infinity();
  const auto [least, most] = std::ranges::minmax(example.inputs.at(name).values());
  return static_cast<double>(most) - least;
}

/// Where that makes no exponential overflow.
std::optional<Example> with_other_sign(const Example& example) {
  if (!(largest_difference(example) < 80)) return std::nullopt;
  Example changed = to_change(example);
  for (float& value : changed.inputs[keys_of(example) > 0 ? "q" : scores_input(example)].values())
    value = -value;
  return changed;
}

// Matrices in memory: of the last two axes, for each index of those before.

/// The matrices with each entry moved to where it would be if rows were columns, or back from there.
template <class T>
TensorOf<T> by_columns(const TensorOf<T>& from, bool back) {
  TensorOf<T> to = from;
  if (from.rank() < 2) return to;
  const Index cols = from.shape().back(), rows = from.shape()[from.rank() - 2];
  for (Index i = 0; i < from.size(); ++i) {
    const Index matrix = i / (rows * cols) * (rows * cols);
    const Index row = (i - matrix) / cols, col = i % cols;
    const Index moved = matrix + col * rows + row;
    (back ? to[moved] : to[i]) = back ? from[i] : from[moved];
  }
  return to;
}

/// @param name of one input; empty for all
Change reading_by_columns(const std::string& name) {
  return [name](const Example& example) -> std::optional<Example> {
    if (example.layout.ranks() > 1) return std::nullopt;
    Example changed = to_change(example);
    for (auto& [input, tensor] : changed.inputs) {
      if (name.empty() || input == name) tensor = by_columns(tensor, false);
    }
    return changed;
  };
}

Answer written_by_columns(Answer answer) {
  for (auto& [name, tensor] : answer) tensor = by_columns(tensor, true);
  return answer;
}

Change rounding_to(const Precision& precision) {
  return [precision](const Example& example) -> std::optional<Example> {
    Example changed = to_change(example);
    for (auto& [name, tensor] : changed.inputs) {
      for (float& value : tensor.values()) value = static_cast<float>(rounded_to(precision, value));
    }
    return changed;
  };
}

std::vector<Hypothesis> hypotheses(const Example& witness) {
  const auto first = [](const Example&, std::span<const float>) { return std::vector<Index>{0}; };
  const auto last = [](const Example&, std::span<const float> row) {
    return std::vector<Index>{std::ssize(row) - 1};
  };
  const auto rest_of_row = [](const Example&, std::span<const float> row) {
    return after_masked(row, std::ssize(row));
  };
  const auto rest_of_block = [](const Example& example, std::span<const float> row) {
    return after_masked(row, static_cast<Index>(example.arguments.at("block").front()));
  };
  const std::string columns = " column by column;\nin memory row follows row (Eigen: RowMajor)";
  std::vector<Hypothesis> all{
      {"the last key were missing", without_last},
      {"the last key of every shard were missing", without_last_of_every_shard},
      {"the first key were missing", without_first},
      {"the last score of every row were missing", masking(last)},
      {"the first score of every row were missing", masking(first)},
      {"the last score of every shard were missing", masking_of_shards(true)},
      {"the first score of every shard were missing", masking_of_shards(false)},
      {"the scores that follow a masked one in its row were missing", masking(rest_of_row)},
      {"every score had the other sign, as in exp(m - s) for exp(s - m)", with_other_sign},
      {"all inputs were rounded to bfloat16 (8 significant bits)", rounding_to(bfloat16)},
      {"all inputs were rounded to float16 (11 significant bits)", rounding_to(float16)},
      {"all matrices were read and written" + columns, reading_by_columns(""), written_by_columns},
      {"all matrices were read" + columns, reading_by_columns("")}};
  if (witness.arguments.contains("block"))
    all.push_back({"the scores that follow a masked one in its block were missing", masking(rest_of_block)});
  for (const auto& [name, input] : witness.inputs) {
    if (input.rank() >= 2 && witness.inputs.size() > 1)
      all.push_back({name + " were read" + columns, reading_by_columns(name)});
  }
  return all;
}

/// Those that explain it all, in their order; of those with the same words one.
std::vector<Reading> fitting(const Task& task, const std::vector<Reading>& readings,
                             const std::vector<const Played*>& all) {
  std::vector<char> fits(readings.size());
  for_each_in_parallel(readings.size(), [&](std::size_t i) {
    try {
      fits[i] = explains_all(task, readings[i], all);
    } catch (const std::exception&) {  // the task has inputs that must fit those that were changed
    }
  });
  std::vector<Reading> fitting;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (fits[i] && std::ranges::find(fitting, readings[i].words, &Reading::words) == fitting.end())
      fitting.push_back(readings[i]);
  }
  return fitting;
}

/// "; on no keys something else is wrong, too": an input that is answered wrongly and does not admit the
/// change.
std::string other_matter(const Change& change, const std::vector<const Played*>& all) {
  const auto other = std::ranges::find_if(all, [&](const Played* played) {
    return !played->answer.empty() && !is_right(*played) && !change(*played->example);
  });
  return other == all.end() ? ""
                            : fmt::format("; on {} something else is wrong, too", (*other)->example->what);
}

/// With 0 in place of numbers that float32 rounds to it: no answer has them.
Answer without_underflow(Answer answer) {
  constexpr double least = std::numeric_limits<float>::denorm_min();
  for (auto& [name, tensor] : answer) {
    for (double& value : tensor.values()) {
      if (std::abs(value) < least / 2) value = 0;
    }
  }
  return answer;
}

/// What the task expects of changed inputs, where the witness admits the change.
std::vector<Reading> of_changed_inputs(const Task& task, const Example& witness,
                                       const std::vector<const Played*>& all) {
  std::vector<Reading> readings;
  for (const Hypothesis& hypothesis : hypotheses(witness)) {
    if (!hypothesis.change(witness)) continue;
    const auto answer = [&task, hypothesis](const Example& example) -> std::optional<Answer> {
      const std::optional<Example> changed = hypothesis.change(example);
      if (!changed) return std::nullopt;
      const Answer expected = without_underflow(task.expected(*changed));
      return hypothesis.written ? hypothesis.written(expected) : expected;
    };
    readings.push_back(
        {.words = "every answer is as if " + hypothesis.words + other_matter(hypothesis.change, all),
         .answer = answer,
         .decides = true});
  }
  return readings;
}

}  // namespace

std::string as_if(const Task& task, const Played& witness, const std::vector<const Played*>& all) {
  std::vector<Reading> readings = of_changed_inputs(task, *witness.example, all);
  std::ranges::copy(task.readings, std::back_inserter(readings));
  const std::vector<Reading> fit = fitting(task, readings, all);
  const auto first = std::ranges::find_if(fit, &Reading::decides);
  if (first != fit.end()) return first->words;
  if (fit.empty() || fit.size() > 2) return "";
  return fit.size() == 1 ? fit[0].words : fit[0].words + ";\nor " + fit[1].words;
}

std::string reading_beside_name(const Task& task, const std::vector<const Played*>& all) {
  std::vector<Reading> readings;
  std::ranges::copy_if(task.readings, std::back_inserter(readings), &Reading::beside_name);
  const std::vector<Reading> fit = fitting(task, readings, all);
  return fit.size() == 1 ? fit.front().words : "";
}

}  // namespace course
