#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>

#include "judge/diagnose.hpp"
#include "judge/numbers/precision.hpp"

namespace course {

namespace {

/// A way to change an example; gives nothing where the example does not admit it.
using Change = std::function<std::optional<Example>(const Example&)>;

struct Hypothesis {
  const char* words;
  Change change;
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

Change rounding_to(const Precision& precision) {
  return [precision](const Example& example) -> std::optional<Example> {
    Example changed = to_change(example);
    for (auto& [name, tensor] : changed.inputs) {
      for (float& value : tensor.values()) value = static_cast<float>(rounded_to(precision, value));
    }
    return changed;
  };
}

const std::vector<Hypothesis>& hypotheses() {
  static const std::vector<Hypothesis> all{
      {"every answer is as if the last key were missing", without_last},
      {"every answer is as if the last key of every shard were missing", without_last_of_every_shard},
      {"every answer is as if the first key were missing", without_first},
      {"every answer is as if all inputs were rounded to bfloat16 (8 significant bits)",
       rounding_to(bfloat16)},
      {"every answer is as if all inputs were rounded to float16 (11 significant bits)",
       rounding_to(float16)}};
  return all;
}

/// Whether the expected answer of the changed examples explains all that was played and admits the change.
bool explains(const Change& change, const Task& task, const std::vector<const Played*>& all) {
  Task changed = task;
  changed.mistakes = {{"", [&](const Example& example) { return task.expected(*change(example)); }}};
  std::vector<const Played*> admitting;
  std::ranges::copy_if(all, std::back_inserter(admitting),
                       [&](const Played* played) { return change(*played->example).has_value(); });
  try {
    return !explaining_mistakes(changed, admitting).empty();
  } catch (const std::exception&) {
    return false;  // the task has inputs that must fit those that were changed
  }
}

/// The words of the first of a task's guesses that explains all that was played.
std::string guess(Task task, const std::vector<const Played*>& all) {
  for (std::size_t i = 0; i < task.guesses.size(); ++i) task.guesses[i].id = std::to_string(i);
  task.mistakes = task.guesses;
  const std::vector<std::string> explaining = explaining_mistakes(task, all);
  const auto first = std::ranges::find_if(task.guesses, [&](const Mistake& mistake) {
    return std::ranges::find(explaining, mistake.id) != explaining.end();
  });
  return first == task.guesses.end() ? "" : first->words;
}

}  // namespace

std::string as_if(const Task& task, const Played& witness, const std::vector<const Played*>& all) {
  for (const Hypothesis& hypothesis : hypotheses()) {
    if (!hypothesis.change(*witness.example) || !explains(hypothesis.change, task, all)) continue;
    const auto other = std::ranges::find_if(all, [&](const Played* played) {
      return !played->answer.empty() && !is_right(*played) && !hypothesis.change(*played->example);
    });
    return other == all.end()
               ? std::string(hypothesis.words)
               : fmt::format("{}; {} is another matter", hypothesis.words, (*other)->example->what);
  }
  return guess(task, all);
}

}  // namespace course
