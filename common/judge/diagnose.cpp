#include "judge/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "judge/numbers/compare.hpp"
#include "judge/numbers/origin.hpp"
#include "judge/parallel.hpp"

namespace course {

namespace {

/// How much farther from the expected answer than from the student a mistake must lie to explain anything.
constexpr double clearly = 4;

/// What an answer says of a mistake: that it is another one; that it may be this one; that it is wrong, and
/// as this mistake would have it.
enum class Likeness { Differs, Equals, Supports };

/// Nobody computes what was never written or had not arrived, but a mistake may be to write nothing.
bool has_what_nobody_computes(const Tensor64& mistaken, const Tensor64& answer) {
  for (Index i = 0; i < answer.size(); ++i) {
    const Origin origin = origin_of(answer[i]);
    if ((origin == Origin::NeverWritten || origin == Origin::FromOpenReceive) &&
        origin_of(mistaken[i]) != origin)
      return true;
  }
  return false;
}

Likeness likeness_of(const Mistake& mistake, const Played& played, bool mistakes_cancel) {
  const Answer mistaken = mistake.answer(*played.example);
  Likeness likeness = Likeness::Equals;
  for (const auto& [name, answer] : played.answer) {
    const Tensor64& expected = played.expected.at(name);
    const Tensor64& other = mistaken.at(name);
    const double tolerance = played.tolerance.at(name);
    const double allowed = mistake_factor * tolerance;
    if (other.shape() != answer.shape() || has_what_nobody_computes(other, answer)) return Likeness::Differs;
    if (relative_error(answer, other, mistakes_cancel ? expected : other) > allowed) return Likeness::Differs;
    if (relative_error(answer, expected) > tolerance && relative_error(other, expected) > clearly * allowed)
      likeness = Likeness::Supports;
  }
  return likeness;
}

/// Whether one mistake equals every answer, and is clearly wrong where an answer is.
bool explains(const Mistake& mistake, const std::vector<const Played*>& all, bool mistakes_cancel) {
  bool supported = false;
  for (const Played* played : all) {
    if (played->answer.empty()) continue;
    const Likeness likeness = likeness_of(mistake, *played, mistakes_cancel);
    if (likeness == Likeness::Differs) return false;
    supported |= likeness == Likeness::Supports;
  }
  return supported;
}

/// The kinds of input on which the answers are as this mistake would have them. None where a right answer
/// says that it was not made.
std::set<std::string> explained_kinds(const Mistake& mistake, const std::vector<const Played*>& all,
                                      bool mistakes_cancel) {
  std::map<std::string, Likeness> by_kind;
  for (const Played* played : all) {
    const Likeness likeness = likeness_of(mistake, *played, mistakes_cancel);
    if (likeness == Likeness::Differs && is_right(*played)) return {};
    Likeness& kind = by_kind.try_emplace(played->example->what, likeness).first->second;
    if (kind != Likeness::Differs) kind = likeness == Likeness::Differs ? likeness : std::max(kind, likeness);
  }
  std::set<std::string> kinds;
  for (const auto& [what, likeness] : by_kind) {
    if (likeness == Likeness::Supports) kinds.insert(what);
  }
  return kinds;
}

/// By output. Throws std::invalid_argument that names the task and the example.
std::map<std::string, double> tolerances(const Task& task, const Played& played) {
  std::map<std::string, double> all;
  for (const auto& [name, axes, join_axis] : task.outputs) {
    const auto exponent = task.exponents.find(name);
    const Tensor64& baseline = played.baseline.at(name);
    const Tensor64& expected = played.expected.at(name);
    try {
      if (!played.cancellation_free.empty()) {
        all[name] = tolerance(baseline, expected, played.cancellation_free.at(name));
      } else {
        const bool has_exponent = exponent != task.exponents.end();
        all[name] = tolerance(baseline, expected, has_exponent ? exponent->second(*played.example) : 0);
      }
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("task " + task.id + ", output " + name + ", on " + played.example->what +
                                  ": " + error.what());
    }
  }
  return all;
}

}  // namespace

Played compare(const Task& task, const Example& example, Answer expected, const Outcome& outcome) {
  Played played{&example, &outcome, std::move(expected), task.baseline(example), {}, {}, {}};
  if (task.cancellation_free) played.cancellation_free = task.cancellation_free(example);
  played.tolerance = tolerances(task, played);
  if (outcome.ending != Outcome::Ending::Finished) {
    played.complaint = outcome.text;
    return played;
  }
  try {
    played.answer = join_outputs(task, example.layout, outcome, played.expected);
  } catch (const std::exception& error) {  // shapes that do not fit together, too
    played.complaint = error.what();
  }
  return played;
}

void require_sharp(const Task& task, const Played& played) {
  for (const auto& [output, allowed] : played.tolerance) {
    // An expected answer that is zero throughout is compared exactly, whatever is allowed.
    if (allowed < task.largest_tolerance || std::isinf(allowed)) continue;
    throw std::logic_error(
        fmt::format("task {}, {}: {} may be off by {:.2g} of its norm, expected less than {:.2g}", task.id,
                    played.example->what, output, allowed, task.largest_tolerance));
  }
}

bool is_right(const Played& played) {
  if (played.answer.empty()) return false;
  return std::all_of(played.answer.begin(), played.answer.end(), [&](const auto& entry) {
    return relative_error(entry.second, played.expected.at(entry.first)) <= played.tolerance.at(entry.first);
  });
}

std::map<std::string, std::vector<std::string>> mistakes_by_kind(const Task& task,
                                                                 const std::vector<Played>& all) {
  std::vector<const Played*> small;
  for (const Played& played : all) {
    if (!played.answer.empty() && !played.example->large) small.push_back(&played);
  }
  std::vector<std::set<std::string>> explained(task.mistakes.size());
  for_each_in_parallel(task.mistakes.size(), [&](std::size_t i) {
    explained[i] = explained_kinds(task.mistakes[i], small, task.mistakes_cancel);
  });
  std::map<std::string, std::set<std::string>> names;
  for (std::size_t i = 0; i < task.mistakes.size(); ++i) {
    for (const std::string& kind : explained[i]) names[kind].insert(task.mistakes[i].id);
  }
  std::map<std::string, std::vector<std::string>> kinds;
  std::size_t told = 0;
  for (const auto& [kind, ids] : names) {
    if (ids.size() != 1) continue;
    kinds[*ids.begin()].push_back(kind);
    ++told;
  }
  std::set<std::string> wrong;
  for (const Played* played : small) {
    if (!is_right(*played)) wrong.insert(played->example->what);
  }
  if (3 * told < wrong.size()) return {};
  return kinds;
}

std::vector<std::string> explaining_mistakes(const Task& task, const std::vector<const Played*>& all) {
  std::vector<char> explaining(task.mistakes.size());
  for_each_in_parallel(task.mistakes.size(), [&](std::size_t i) {
    explaining[i] = explains(task.mistakes[i], all, task.mistakes_cancel);
  });
  std::set<std::string> names;
  for (std::size_t i = 0; i < explaining.size(); ++i) {
    if (explaining[i]) names.insert(task.mistakes[i].id);
  }
  return {names.begin(), names.end()};
}

}  // namespace course
