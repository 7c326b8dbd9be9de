#include "judge/diagnosis/inputs_apart.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "judge/diagnosis/inputs_compared.hpp"

namespace course {

namespace {

/// Of so many ways to draw as many inputs as are wrong, some would have something in common by chance.
const double fewest_ways = 100;
constexpr std::size_t most_things = 2;

using Quantity = std::function<std::optional<Index>(const Example&)>;

Quantity extent(const char* input, Index axis, Index rank = 3) {
  return [=](const Example& example) -> std::optional<Index> {
    const auto found = example.inputs.find(input);
    if (found == example.inputs.end() || found->second.rank() != rank) return std::nullopt;
    return found->second.extent(axis);
  };
}

std::optional<Index> block(const Example& example) {
  const auto found = example.arguments.find("block");
  if (found == example.arguments.end() || found->second.size() != 1) return std::nullopt;
  return static_cast<Index>(found->second.front());
}

/// What an input has or has not, in words.
struct Property {
  const char* yes;
  const char* no;  ///< empty where that is not told
  std::function<std::optional<bool>(const Example&)> has;
};

/// Of two quantities that an input has both of.
template <class Compare>
auto compared(Quantity a, Quantity b, Compare compare) {
  return [=](const Example& example) -> std::optional<bool> {
    const std::optional<Index> of_a = a(example), of_b = b(example);
    if (!of_a || !of_b) return std::nullopt;
    return compare(*of_a, *of_b);
  };
}

/// Of the numbers of tokens that ranks have, where there are several.
template <class Look>
auto of_shards(Look look) {
  return [=](const Example& example) -> std::optional<bool> {
    if (example.layout.ranks() < 2) return std::nullopt;
    return look(std::ranges::minmax(example.layout.shard_tokens()));
  };
}

std::vector<Property> properties() {
  const Quantity queries = extent("q", 1), keys = extent("k", 1);
  const auto divides = [](Index size, Index part) { return part < 1 || size % part == 0; };
  return {{"more keys than queries", "", compared(keys, queries, std::greater())},
          {"more queries than keys", "", compared(queries, keys, std::greater())},
          {"a rank without tokens", "tokens on every rank",
           of_shards([](const auto& tokens) { return tokens.min == 0; })},
          {"as many tokens on every rank", "unequal shards",
           of_shards([](const auto& tokens) { return tokens.min == tokens.max; })},
          {"a number of keys that block divides", "a number of keys that block does not divide",
           compared(keys, block, divides)},
          {"a number of columns that block divides", "a number of columns that block does not divide",
           compared(extent("x", 1, 2), block, divides)}};
}

/// A size of an input. What can be counted is told as "more than 1 head", else as "head_dim above 64".
struct Size {
  const char* one;
  const char* several;  ///< null of what is not counted
  Quantity of;
};

std::vector<Size> sizes() {
  return {{"head", "heads", extent("k", 0)},
          {"key", "keys", extent("k", 1)},
          {"query", "queries", extent("q", 1)},
          {"row", "rows", extent("x", 0, 2)},
          {"column", "columns", extent("x", 1, 2)},
          {"head_dim", nullptr, extent("k", 2)},
          {"block", nullptr, block}};
}

/// The inputs with a wrong answer, and those with a right one.
struct Sides {
  std::vector<const Example*> wrong, right;
};

/// Of every input of a side; nothing where one has none.
template <class Value, class Of>
std::optional<std::vector<Value>> values(const std::vector<const Example*>& examples, const Of& of) {
  std::vector<Value> all;
  for (const Example* example : examples) {
    const auto value = of(*example);
    if (!value) return std::nullopt;
    all.push_back(*value);
  }
  return all;
}

std::string words_of(const Property& property, const Sides& sides) {
  const auto wrong = values<char>(sides.wrong, property.has), right = values<char>(sides.right, property.has);
  if (!wrong || !right) return "";
  const auto all_are = [](const std::vector<char>& side, char value) {
    return std::ranges::count(side, value) == std::ssize(side);
  };
  if (all_are(*wrong, true) && all_are(*right, false)) return property.yes;
  if (all_are(*wrong, false) && all_are(*right, true)) return property.no;
  return "";
}

std::string words_of(const Size& size, const Sides& sides) {
  const auto wrong = values<Index>(sides.wrong, size.of), right = values<Index>(sides.right, size.of);
  if (!wrong || !right) return "";
  const auto [least_wrong, most_wrong] = std::ranges::minmax(*wrong);
  const auto [least_right, most_right] = std::ranges::minmax(*right);
  const bool above = least_wrong > most_right;
  if (!above && most_wrong >= least_right) return "";
  const Index bound = above ? most_right : least_right;
  if (size.several == nullptr) return fmt::format("{} {} {}", size.one, above ? "above" : "below", bound);
  if (!above && bound == 1) return fmt::format("no {}", size.several);
  return fmt::format("{} than {} {}", above ? "more" : "fewer", bound, bound == 1 ? size.one : size.several);
}

/// In how many ways so many could be drawn of all.
double ways_to_draw(std::size_t drawn, std::size_t all) {
  double ways = 1;
  for (std::size_t i = 0; i < drawn; ++i) ways *= static_cast<double>(all - i) / static_cast<double>(i + 1);
  return ways;
}

/// Nothing where an input has ended without an answer. `empty_too`: also those with a right answer in which
/// there is nothing to get wrong.
std::optional<Sides> sides_of(const std::vector<Played>& test, bool empty_too) {
  Sides sides;
  for (const Played& played : test) {
    if (played.outcome->ending == Outcome::Ending::NotPlayed) continue;
    if (played.answer.empty()) return std::nullopt;
    if (!is_right(played))
      sides.wrong.push_back(played.example);
    else if (empty_too || has_number(played))
      sides.right.push_back(played.example);
  }
  return sides;
}

std::string what_sets_apart(const std::optional<Sides>& sides) {
  if (!sides) return "";
  const std::size_t wrong = sides->wrong.size(), right = sides->right.size();
  if (wrong < 2 || right < 2 || ways_to_draw(wrong, wrong + right) < fewest_ways) return "";
  std::vector<std::string> things;
  for (const Property& property : properties()) things.push_back(words_of(property, *sides));
  for (const Size& size : sizes()) things.push_back(words_of(size, *sides));
  std::erase(things, "");
  if (things.empty()) return "";
  things.resize(std::min(things.size(), most_things));
  return fmt::format("{} inputs with a wrong answer have {}; none of the {} others has{}",
                     wrong == 2 ? "both" : fmt::format("all {}", wrong), fmt::join(things, " and "), right,
                     things.size() > 1 ? " either" : "");
}

}  // namespace

std::string what_wrong_inputs_share(const std::vector<Played>& test) {
  if (const std::string words = what_sets_apart(sides_of(test, true)); !words.empty()) return words;
  const std::string words = what_sets_apart(sides_of(test, false));
  return words.empty() ? "" : words + " (answers that are all 0 or -inf left out)";
}

}  // namespace course
