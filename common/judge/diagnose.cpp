#include "judge/diagnose.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "judge/compare.hpp"

namespace course {

namespace {

/// A mistake's answer is computed in another order than the student's, often in float64.
constexpr double mistake_factor = 4;
/// How much farther from the truth than from the student a mistake must lie to explain anything.
constexpr double clearly = 4;

enum class Evidence { Refutes, Neutral, Supports };

Evidence weigh_output(const Tensor64& answer, const Tensor64& truth, const Tensor64& mistaken,
                      double tolerance) {
  const double allowed = mistake_factor * tolerance;
  if (mistaken.shape() != answer.shape() || relative_error(answer, mistaken) > allowed)
    return Evidence::Refutes;
  const bool wrong = relative_error(answer, truth) > tolerance;
  return wrong && relative_error(mistaken, truth) > clearly * allowed ? Evidence::Supports
                                                                      : Evidence::Neutral;
}

Evidence weigh_example(const Mistake& mistake, const Played& played) {
  const Answer mistaken = mistake.answer(*played.example);
  Evidence evidence = Evidence::Neutral;
  for (const auto& [name, answer] : played.answer) {
    const Evidence output =
        weigh_output(answer, played.truth.at(name), mistaken.at(name), played.tolerance.at(name));
    if (output == Evidence::Refutes) return output;
    evidence = std::max(evidence, output);
  }
  return evidence;
}

bool explains(const Mistake& mistake, const std::vector<const Played*>& all) {
  bool supported = false;
  for (const Played* played : all) {
    if (played->answer.empty()) continue;
    const Evidence evidence = weigh_example(mistake, *played);
    if (evidence == Evidence::Refutes) return false;
    supported |= evidence == Evidence::Supports;
  }
  return supported;
}

}  // namespace

Played compare(const Task& task, const Example& example, const Outcome& outcome) {
  Played played{&example, &outcome, task.truth(example), {}, {}, {}};
  const Answer baseline = task.baseline(example);
  for (const Output& output : task.outputs) {
    played.tolerance[output.name] = tolerance(baseline.at(output.name), played.truth.at(output.name));
  }
  if (outcome.ending != Outcome::Ending::Finished) {
    played.complaint = outcome.text;
    return played;
  }
  try {
    played.answer = join_outputs(task, outcome, played.truth);
  } catch (const std::runtime_error& error) {
    played.complaint = error.what();
  }
  return played;
}

bool is_right(const Played& played) {
  if (played.answer.empty()) return false;
  return std::all_of(played.answer.begin(), played.answer.end(), [&](const auto& entry) {
    return relative_error(entry.second, played.truth.at(entry.first)) <= played.tolerance.at(entry.first);
  });
}

std::vector<std::string> explaining_mistakes(const Task& task, const std::vector<const Played*>& all) {
  std::set<std::string> names;
  for (const Mistake& mistake : task.mistakes) {
    if (explains(mistake, all)) names.insert(mistake.id);
  }
  return {names.begin(), names.end()};
}

}  // namespace course
