#include "judge/diagnosis/inputs_compared.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <sstream>
#include <tuple>

#include "judge/numbers/compare.hpp"
#include "judge/numbers/wrong_entries.hpp"
#include "judge/refusal.hpp"

namespace course {

namespace {

/// Beyond that, exponentials of differences leave float32's range.
constexpr float far_from_0 = 64;
/// A relative error up to this looks like rounding.
constexpr double like_rounding = 1e-4;
/// Unrelated wrong entries are all off to one side once in 2^(n - 1): fewer than these prove nothing.
constexpr std::size_t fewest_in_common = 12;
/// A line of kinds of input, and how many of them.
constexpr std::size_t most_columns = 92, most_lines = 3;

bool is_special(const Played& played) {
  for (int rank = 0; rank < played.example->layout.ranks(); ++rank) {
    if (played.example->layout.tokens(rank) == 0) return true;
  }
  const auto is_far = [](float x) { return !(std::abs(x) <= far_from_0); };
  for (const auto& [name, input] : played.example->inputs) {
    if (std::ranges::any_of(input.values(), is_far)) return true;
  }
  return !has_number(played);
}

/// How many reasons there are why many mistakes look alike on it: wrong entries that are no numbers, and rows
/// of two columns at most with something special in them.
int says_little(const Task& task, const Played& played) {
  const auto is_no_number = [&](const Output* output) {
    const std::vector<double>&answer = played.answer.at(output->name).values(),
          &expected = played.expected.at(output->name).values();
    return !std::ranges::equal(answer, expected, [](double given, double right) {
      return std::isfinite(given) || !std::isfinite(right);
    });
  };
  const auto is_narrow = [](const auto& input) {
    return input.second.rank() < 2 || input.second.shape().back() < 3;
  };
  return (std::ranges::any_of(wrong_outputs(task, played), is_no_number) ? 1 : 0) +
         (is_special(played) && std::ranges::all_of(played.example->inputs, is_narrow) ? 1 : 0);
}

/// Whether all that is wrong of an answer is so by little.
bool looks_like_rounding(const Task& task, const Played& played) {
  return !played.answer.empty() &&
         std::ranges::all_of(wrong_outputs(task, played), [&](const Output* output) {
           return relative_error(played.answer.at(output->name), played.expected.at(output->name)) <=
                  like_rounding;
         });
}

bool has_relation(const Task& task, const Played& played) {
  if (played.answer.empty()) return false;
  return std::ranges::any_of(wrong_outputs(task, played), [&](const Output* output) {
    return is_one_relation(*output, played.answer.at(output->name), played.expected.at(output->name),
                           played.tolerance.at(output->name), layout_of(*output, *played.example));
  });
}

/// The wrong entries of an output, of every answer: what they are, and by how much they are too large. That
/// has no meaning where a filler stands, or should.
struct WrongEntries {
  std::vector<double> values, errors;
  bool any_filler = false;
};

WrongEntries wrong_entries(const Output& declared, const std::vector<Played>& all) {
  const std::string& output = declared.name;
  WrongEntries wrong;
  for (const Played& played : all) {
    if (played.answer.empty()) continue;
    const Tensor64& answer = played.answer.at(output);
    const Tensor64& expected = played.expected.at(output);
    const double tolerance = played.tolerance.at(output);
    if (relative_error(answer, expected) <= tolerance) continue;
    const std::vector<double> off = off_by(answer, expected, tolerance);
    for (Index i = 0; i < answer.size(); ++i) {
      if (off[i] <= tolerance) continue;
      wrong.values.push_back(answer[i]);
      wrong.errors.push_back(answer[i] - expected[i]);
      wrong.any_filler |= answer[i] == declared.filler || expected[i] == declared.filler;
    }
  }
  return wrong;
}

/// "too large, by 0.1 to 0.7"; empty where some are too large and others too small.
std::string side_words(const std::vector<double>& errors) {
  const auto [least, most] = std::ranges::minmax(errors);
  if (least < 0 && most > 0) return "";
  const double smallest = std::min(std::abs(least), std::abs(most));
  const double largest = std::max(std::abs(least), std::abs(most));
  const std::string at_most = fmt::format("{:.3g}", largest);
  const std::string from = smallest < 0.01 * largest ? "up to " : fmt::format("{:.3g} to ", smallest);
  return fmt::format("too {}, by {}{}", least > 0 ? "large" : "small", from == at_most + " to " ? "" : from,
                     at_most);
}

/// What all wrong entries of an output have in common: one value, or the side on which they are.
std::string of_all_wrong_entries(const Output& output, const std::vector<Played>& all) {
  const auto& [values, errors, any_filler] = wrong_entries(output, all);
  if (any_filler || errors.size() < fewest_in_common ||
      !std::ranges::all_of(errors, [](double x) { return std::isfinite(x); }))
    return "";
  const auto [least, most] = std::ranges::minmax(values);
  const std::string what = least == most ? fmt::format("{:.6g}", least) : side_words(errors);
  if (what.empty()) return "";
  return fmt::format("every wrong entry of {}{} is {}", output.in_words(),
                     all.size() > 1 ? ", on whatever input," : "", what);
}

std::size_t words_in_common(const std::string& a, const std::string& b) {
  const auto words = [](const std::string& text) {
    std::set<std::string> all;
    std::istringstream stream(text);
    for (std::string word; stream >> word;) {
      std::erase(word, ',');
      if (word.size() > 3) all.insert(word);
    }
    return all;
  };
  const std::set<std::string> of_a = words(a), of_b = words(b);
  return static_cast<std::size_t>(
      std::ranges::count_if(of_a, [&](const auto& x) { return of_b.contains(x); }));
}

bool is_right_in(const Output& output, const Played& played) {
  return relative_error(played.answer.at(output.name), played.expected.at(output.name)) <=
         played.tolerance.at(output.name);
}

/// The title and the kinds behind it, in a few lines.
std::string in_lines(std::string text, const std::vector<std::string>& kinds) {
  std::size_t begin_of_line = 0, lines = 1;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string next = " " + kinds[i] + (i + 1 < kinds.size() ? ";" : "");
    if (text.size() - begin_of_line + next.size() > most_columns && lines++ < most_lines) {
      text += "\n ";
      begin_of_line = text.size() - 1;
    }
    if (lines > most_lines) return text + fmt::format(" and {} more", kinds.size() - i);
    text += next;
  }
  return text;
}

}  // namespace

bool has_number(const Played& played) {
  return std::ranges::any_of(played.expected, [](const auto& output) {
    return std::ranges::any_of(output.second.values(), [](double x) { return std::isfinite(x) && x != 0; });
  });
}

const Played* simplest(const Task& task, const std::vector<const Played*>& failed, bool relations) {
  const auto effort = [&](const Played* played) {
    return std::tuple(
        played->example->less_telling, relations && looks_like_rounding(task, *played), is_special(*played),
        !(relations && has_relation(task, *played)), relations ? says_little(task, *played) : 0,
        // Where nothing is named, up to twice as many are as many: the ordinary ones are played first.
        relations ? std::bit_width(static_cast<std::uint64_t>(played->example->numbers()))
                  : played->example->numbers());
  };
  return *std::ranges::min_element(failed, {}, effort);
}

std::string right_and_side(const Task& task, const Played& shown, const std::vector<Played>& all) {
  if (shown.answer.empty() || is_right(shown)) return "";
  std::vector<std::string> words;
  for (const Output& output : task.outputs) {
    if (!is_right_in(output, shown)) {
      words.push_back(of_all_wrong_entries(output, all));
      continue;
    }
    if (output.name == refusal::output_name) continue;  // that nothing is refused goes without saying
    const bool everywhere = all.size() > 1 && std::ranges::all_of(all, [&](const Played& played) {
                              return played.answer.empty() || is_right_in(output, played);
                            });
    words.push_back(output.in_words() + (everywhere ? " is right on every input" : " is right here"));
  }
  std::erase(words, "");
  return fmt::format("{}", fmt::join(words, "; "));
}

std::string one_wrong_rank(const Task& task, const std::vector<Played>& all) {
  int inputs = 0;
  bool first = true, last = true;
  for (const Played& played : all) {
    if (played.answer.empty()) continue;
    bool counts = false;
    for (const Output& output : task.outputs) {
      const Tensor64 &given = played.answer.at(output.name), &right = played.expected.at(output.name);
      if (is_right_in(output, played)) continue;
      if (output.axes.front() != "rank" || given.size() != given.extent(0)) return "";
      if (given.extent(0) < 3) continue;
      const std::vector<double> off = off_by(given, right, played.tolerance.at(output.name));
      for (Index rank = 0; rank < given.extent(0); ++rank) {
        const bool is_wrong = off[rank] > played.tolerance.at(output.name);
        first = first && is_wrong == (rank == 0);
        last = last && is_wrong == (rank + 1 == given.extent(0));
      }
      counts = true;
    }
    inputs += counts ? 1 : 0;
  }
  if (inputs < 2 || !(first || last)) return "";
  return fmt::format("wrong is the {} rank, and no other, on every wrong input", first ? "first" : "last");
}

std::string kinds_that_pass(const std::vector<Played>& all, const std::set<const Played*>& failed) {
  std::map<std::string, bool> passes;
  for (const Played& played : all) {
    if (played.outcome->ending == Outcome::Ending::NotPlayed) continue;
    bool& kind = passes.try_emplace(played.example->what, true).first->second;
    kind = kind && !failed.contains(&played);
  }
  std::vector<std::string> right, wrong;
  for (const Played& played : all) {  // in the order in which they were played
    const auto kind = passes.extract(played.example->what);
    if (!kind.empty()) (kind.mapped() ? right : wrong).push_back(kind.key());
  }
  if (right.empty()) return "";
  if (wrong.size() == 1 && right.size() > 1)
    return fmt::format("right on all other {} kinds of input", right.size());
  const auto listed = [](const std::vector<std::string>& kinds) {
    return fmt::format("{}", fmt::join(kinds, "; "));
  };
  const std::string all_right = "right on: " + listed(right),
                    all_wrong = "wrong on nothing but: " + listed(wrong);
  if (all_right.size() <= most_columns) return all_right;
  if (all_wrong.size() <= most_columns) return all_wrong;
  if (2 * wrong.size() <= right.size()) return in_lines("wrong on nothing but:", wrong);
  // Those first whose names have most words in common with one that fails.
  std::ranges::stable_sort(right, std::greater(), [&](const std::string& kind) {
    std::size_t most = 0;
    for (const std::string& other : wrong) most = std::max(most, words_in_common(kind, other));
    return most;
  });
  return in_lines("right on:", right);
}

}  // namespace course
