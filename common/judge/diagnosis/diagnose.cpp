#include "judge/diagnosis/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "judge/diagnosis/inputs_compared.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/origin.hpp"
#include "judge/parallel.hpp"

namespace course {

namespace {

/// Nobody computes what was never written or had not arrived, but a mistake may be to write nothing; and a
/// NaN that arithmetic makes is another than one that was computed from what was never written.
bool has_what_nobody_computes(const Tensor64& mistaken, const Tensor64& answer) {
  for (Index i = 0; i < answer.size(); ++i) {
    const Origin given = origin_of(answer[i]);
    const Origin predicted = origin_of(mistaken[i]);
    if ((given == Origin::NeverWritten || given == Origin::FromOpenReceive) && predicted != given)
      return true;
    if ((given == Origin::FromUnwritten || given == Origin::FromDevice) && predicted == Origin::Arithmetic)
      return true;
  }
  return false;
}

/// Of one output.
Likeness likeness_of(const std::string& name, const Tensor64& other, const Played& played,
                     bool mistakes_cancel) {
  const Tensor64& answer = played.answer.at(name);
  const Tensor64& expected = played.expected.at(name);
  const double tolerance = played.tolerance.at(name);
  const double allowed = mistake_factor * tolerance;
  if (other.shape() != answer.shape() || has_what_nobody_computes(other, answer)) return Likeness::Differs;
  if (error_as_mistake(answer, other, mistakes_cancel ? expected : other) > allowed) return Likeness::Differs;
  return relative_error(answer, expected) > tolerance && relative_error(other, expected) > clearly * allowed
             ? Likeness::Supports
             : Likeness::Equals;
}

Likeness likeness_of(const Answer& mistaken, const Played& played, bool mistakes_cancel) {
  Likeness likeness = Likeness::Equals;
  for (const auto& [name, answer] : played.answer) {
    const Likeness found = likeness_of(name, mistaken.at(name), played, mistakes_cancel);
    if (found == Likeness::Differs) return found;
    likeness = std::max(likeness, found);
  }
  return likeness;
}

/// By output; nullopt where it is not known what the mistake computes.
std::optional<std::map<std::string, Likeness>> likeness_by_output(const Mistake& mistake,
                                                                  const Played& played,
                                                                  bool mistakes_cancel) {
  std::optional<Answer> mistaken;
  if (!mistake.outcomes) {
    mistaken = mistake.answer(*played.example);
    if (!mistaken) return std::nullopt;
  }
  std::map<std::string, Likeness> all;
  for (const auto& [name, answer] : played.answer) {
    all[name] = mistake.outcomes ? mistake.outcomes->likeness(played, name)
                                 : likeness_of(name, mistaken->at(name), played, mistakes_cancel);
  }
  return all;
}

/// Of an example without an answer.
Likeness likeness_of_ending(const Mistake& mistake, const Played& played) {
  if (!mistake.throws || played.outcome->ending != Outcome::Ending::Threw) return Likeness::Equals;
  const std::optional<Fact>& told = played.outcome->told;
  return told && mistake.throws(*played.example, *told) ? Likeness::Supports : Likeness::Differs;
}

/// Of any example.
Likeness likeness(const Mistake& mistake, const Played& played, bool mistakes_cancel) {
  if (mistake.outcomes) return mistake.outcomes->likeness(played);
  if (mistake.agrees && !mistake.agrees(*played.example, *played.outcome)) return Likeness::Differs;
  if (played.answer.empty()) return likeness_of_ending(mistake, played);
  const std::optional<Answer> mistaken = mistake.answer(*played.example);
  return mistaken ? likeness_of(*mistaken, played, mistakes_cancel) : Likeness::Equals;
}

/// Whether one mistake equals every answer, and is clearly wrong where an answer is; one by which the
/// function throws has thrown.
bool explains(const Mistake& mistake, const std::vector<const Played*>& all, bool mistakes_cancel) {
  bool supported = false;
  for (const Played* played : all) {
    const Likeness found = likeness(mistake, *played, mistakes_cancel);
    if (found == Likeness::Differs) return false;
    supported |= found == Likeness::Supports;
  }
  return supported;
}

/// Whether a mistake's answer is clearly wrong.
bool is_clearly_wrong(const Mistake& mistake, const Played& played) {
  if (mistake.outcomes) return mistake.outcomes->is_wrong_on(played);
  const std::optional<Answer> mistaken = mistake.answer(*played.example);
  return mistaken && std::ranges::any_of(played.expected, [&](const auto& output) {
           const auto& [name, expected] = output;
           const auto tolerance =
               played.tolerance.find(name);  // none of an output that the task does not have
           return tolerance != played.tolerance.end() && (mistaken->at(name).shape() != expected.shape() ||
                                                          relative_error(mistaken->at(name), expected) >
                                                              clearly * mistake_factor * tolerance->second);
         });
}

/// The kinds of input on which the answers are as a mistake would have them.
struct Explained {
  std::set<std::string> kinds = {};
  bool fails_elsewhere = false;  ///< the mistake would show on other kinds, too, and does not
};

/// Whether every entry of the answer is NaN where numbers should be: many a mistake comes to that.
bool is_nan_throughout(const Played& played) {
  const auto is_nan = [](double entry) { return std::isnan(entry); };
  return has_number(played) && std::ranges::all_of(played.answer, [&](const auto& output) {
           return std::ranges::all_of(output.second.values(), is_nan);
         });
}

/// None where a right answer says that the mistake was not made.
Explained explained_kinds(const Mistake& mistake, const std::vector<const Played*>& all,
                          bool mistakes_cancel) {
  Explained explained;
  std::map<std::string, Likeness> by_kind;
  for (const Played* played : all) {
    Likeness found = likeness(mistake, *played, mistakes_cancel);
    if (found == Likeness::Supports && (is_nan_throughout(*played) || is_right(*played)))
      found = Likeness::Equals;
    if (found == Likeness::Differs && is_right(*played)) return {};
    if (found == Likeness::Differs) explained.fails_elsewhere |= is_clearly_wrong(mistake, *played);
    Likeness& kind = by_kind.try_emplace(played->example->what, found).first->second;
    if (kind != Likeness::Differs) kind = found == Likeness::Differs ? found : std::max(kind, found);
  }
  for (const auto& [what, likeness] : by_kind) {
    if (likeness == Likeness::Supports) explained.kinds.insert(what);
  }
  return explained;
}

/// By output. Throws std::invalid_argument that names the task and the example.
std::map<std::string, double> tolerances(const Task& task, const Played& played) {
  std::map<std::string, double> all;
  for (const Output& output : task.outputs) {
    const std::string& name = output.name;
    const Tensor64& baseline = played.baseline.at(name);
    const Tensor64& expected = played.expected.at(name);
    try {
      const auto rounding = played.rounding.find(name);
      all[name] = rounding == played.rounding.end() ? tolerance(baseline, expected)
                                                    : tolerance(baseline, expected, rounding->second);
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
  if (task.rounding) played.rounding = task.rounding(example);
  played.tolerance = tolerances(task, played);
  if (outcome.ending != Outcome::Ending::Finished) {
    played.complaint = outcome.text;
    return played;
  }
  try {
    played.answer = join_outputs(task, example, outcome, played.expected);
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

std::vector<const Output*> wrong_outputs(const Task& task, const Played& played) {
  std::vector<const Output*> wrong;
  for (const Output& output : task.outputs) {
    const double error = relative_error(played.answer.at(output.name), played.expected.at(output.name));
    if (error > played.tolerance.at(output.name)) wrong.push_back(&output);
  }
  return wrong;
}

std::map<std::string, std::vector<std::string>> mistakes_by_kind(const Task& task,
                                                                 const std::vector<Played>& all) {
  std::vector<const Played*> small;
  for (const Played& played : all) {
    if (!played.answer.empty() && !played.example->large && !played.example->far_out)
      small.push_back(&played);
  }
  std::vector<Explained> explained(task.mistakes.size());
  for_each_in_parallel(task.mistakes.size(), [&](std::size_t i) {
    explained[i] = explained_kinds(task.mistakes[i], small, task.mistakes_cancel);
  });
  // By kind, those that explain it, and those of them that fail nowhere else.
  std::map<std::string, std::set<std::string>> names, names_without_fail;
  for (std::size_t i = 0; i < task.mistakes.size(); ++i) {
    for (const std::string& kind : explained[i].kinds) {
      names[kind].insert(task.mistakes[i].id);
      if (!explained[i].fails_elsewhere) names_without_fail[kind].insert(task.mistakes[i].id);
    }
  }
  std::map<std::string, std::vector<std::string>> kinds;
  std::size_t told = 0;
  for (const auto& [kind, ids] : names) {
    const std::set<std::string>& likely = ids.size() == 1 ? ids : names_without_fail[kind];
    if (likely.size() != 1) continue;
    kinds[*likely.begin()].push_back(kind);
    ++told;
  }
  std::set<std::string> wrong;
  for (const Played* played : small) {
    if (!is_right(*played)) wrong.insert(played->example->what);
  }
  if (2 * told < wrong.size()) return {};
  return kinds;
}

bool explains_all(const Task& task, const Reading& reading, const std::vector<const Played*>& all) {
  return explains({"", reading.answer, {}, reading.agrees}, all, task.mistakes_cancel);
}

std::map<std::string, OutputLook> mistakes_by_output(const Task& task,
                                                     const std::vector<const Played*>& all) {
  std::set<std::string> wrong;
  for (const Played* played : all) {
    if (played->answer.empty()) continue;
    for (const Output* output : wrong_outputs(task, *played)) wrong.insert(output->name);
  }
  struct Look {
    std::set<std::string> outputs;     ///< that the mistake explains
    std::set<std::string> right_ones;  ///< that it would have made wrong
  };
  std::vector<Look> looks(task.mistakes.size());
  for_each_in_parallel(task.mistakes.size(), [&](std::size_t i) {
    const Mistake& mistake = task.mistakes[i];
    if (mistake.agrees) return;
    std::set<std::string> alike = wrong, supported;
    for (const Played* played : all) {
      if (played->answer.empty() || alike.empty()) continue;
      const auto by_output = likeness_by_output(mistake, *played, task.mistakes_cancel);
      if (!by_output) return;
      for (const auto& [name, found] : *by_output) {
        if (found == Likeness::Supports) supported.insert(name);
        if (found == Likeness::Differs && alike.erase(name) == 0 && !wrong.contains(name))
          looks[i].right_ones.insert(name);
      }
    }
    std::ranges::set_intersection(alike, supported, std::inserter(looks[i].outputs, looks[i].outputs.end()));
  });
  std::map<std::string, std::map<std::string, std::set<std::string>>> ids;  // and by mistake, its right ones
  for (std::size_t i = 0; i < looks.size(); ++i) {
    for (const std::string& output : looks[i].outputs) ids[output][task.mistakes[i].id] = looks[i].right_ones;
  }
  std::map<std::string, OutputLook> only;
  for (const auto& [output, of_output] : ids) {
    if (of_output.size() != 1) continue;
    const auto& [mistake, right_ones] = *of_output.begin();
    only[output] = {mistake, {right_ones.begin(), right_ones.end()}};
  }
  return only;
}

bool may_show_otherwise(const Task& task, const std::string& mistake) {
  return std::ranges::any_of(task.mistakes, [&](const Mistake& one) {
    return one.id == mistake && (one.throws || (one.outcomes && one.outcomes->is_right_throughout()));
  });
}

std::vector<std::string> explaining_mistakes(const Task& task, const std::vector<const Played*>& all) {
  std::vector<char> explaining(task.mistakes.size());
  for_each_in_parallel(task.mistakes.size(), [&](std::size_t i) {
    explaining[i] = explains(task.mistakes[i], all, task.mistakes_cancel);
  });
  std::set<std::string> names, sending_alike;
  for (std::size_t i = 0; i < explaining.size(); ++i) {
    if (!explaining[i]) continue;
    const Mistake& mistake = task.mistakes[i];
    names.insert(mistake.id);
    if (mistake.outcomes && std::ranges::all_of(all, [&](const Played* played) {
          return mistake.outcomes->sends_alike(*played);
        }))
      sending_alike.insert(mistake.id);
  }
  // Numbers that are one mistake's alone may come with other bytes than its forms': only where they are
  // several's do the bytes decide.
  if (names.size() > 1 && !sending_alike.empty()) names = std::move(sending_alike);
  return {names.begin(), names.end()};
}

}  // namespace course
