#include "judge/diagnosis/failure_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "judge/checks/communication_checks.hpp"
#include "judge/diagnosis/inputs_apart.hpp"
#include "judge/diagnosis/inputs_compared.hpp"
#include "judge/diagnosis/readings.hpp"
#include "judge/numbers/known_factors.hpp"
#include "judge/numbers/origin.hpp"
#include "judge/numbers/wrong_entries.hpp"
#include "text/text_file.hpp"

namespace course {

namespace {

/// Whether arithmetic made a NaN somewhere where a number should be.
bool has_computed_nan(const Played& played) {
  return std::any_of(played.answer.begin(), played.answer.end(), [&](const auto& output) {
    const std::vector<double>& answer = output.second.values();
    const std::vector<double>& expected = played.expected.at(output.first).values();
    return !std::equal(answer.begin(), answer.end(), expected.begin(), [](double given, double right) {
      return origin_of(given) != Origin::Arithmetic || !std::isfinite(right);
    });
  });
}

/// "on ordinary scores", "on ordinary scores and on real input", "on ordinary scores and 3 other kinds of
/// input"; "on every kind of input here" where there are no others
std::string on_kinds(const std::vector<std::string>& kinds, std::size_t there_are) {
  if (kinds.size() == there_are && there_are > 2) return "on every kind of input here";
  if (kinds.size() == 2) return fmt::format("on {} and on {}", kinds[0], kinds[1]);
  return "on " + kinds[0] +
         (kinds.size() == 1 ? "" : fmt::format(" and {} other kinds of input", kinds.size() - 1));
}

/// "dq is", "dk and dv are"
std::string is_or_are(const std::vector<std::string>& names) {
  return listed(names) + (names.size() == 1 ? " is" : " are");
}

/// Whether the call did not return. The last such call ended the program where inputs were not played.
bool did_not_return(const Played& played) {
  using enum Outcome::Ending;
  const Outcome::Ending ending = played.outcome->ending;
  return ending != Finished && ending != NotPlayed && ending != Todo;
}

/// What a failure without a name looks like on some kinds of input (mistakes_by_kind).
Lines looks_in_part(const PlayedTest& test, const std::map<std::string, std::vector<std::string>>& kinds) {
  std::set<std::string> all;
  for (const Played& played : test.played) {
    if (!played.answer.empty() && !played.example->large) all.insert(played.example->what);
  }
  const char* const count = kinds.size() == 2 ? "two" : "several";
  Lines lines;
  for (const auto& [mistake, on] : kinds) {
    const std::string before = kinds.size() == 1 ? ""
                               : lines.empty()   ? fmt::format("{} mistakes, perhaps: ", count)
                                                 : "and ";
    lines.push_back(fmt::format("{}{} it {}", before, on_kinds(on, all.size()),
                                looks_like(test.test->task->descriptions.at(mistake))));
  }
  return lines;
}

void append(Lines& lines, Lines more) {
  std::ranges::move(more, std::back_inserter(lines));
}

/// What zeros() says of an output of an answer.
std::string zeros_of(const Output& output, const Played& played) {
  return zeros(output, played.answer.at(output.name), played.expected.at(output.name),
               played.tolerance.at(output.name), layout_of(output, *played.example));
}

/// What zeros() says of the witness' outputs: of those that have zeros on every input on which they are
/// wrong, where that is more than one, or of the others.
Lines zero_lines(const Task& task, const Played& witness, const std::vector<Played>& test,
                 bool on_every_input) {
  Lines lines;
  for (const Output* output : wrong_outputs(task, witness)) {
    std::ptrdiff_t wrong = 0, of_zeros = 0;
    for (const Played& played : test) {
      if (played.answer.empty() || std::ranges::count(wrong_outputs(task, played), output) == 0) continue;
      ++wrong;
      of_zeros += zeros_of(*output, played).empty() ? 0 : 1;
    }
    if ((wrong > 1 && of_zeros == wrong) == on_every_input) lines.push_back(zeros_of(*output, witness));
  }
  return lines;
}

/// What a factor in an output of the shown answer may be: without what another input's answer refutes that is
/// off by one factor, too.
std::vector<KnownFactor> unrefuted_factors(const Output& output, const Played& shown,
                                           const std::vector<const Played*>& all) {
  std::vector<KnownFactor> known = known_factors(*shown.example);
  for (const Played* other : all) {
    if (other->answer.empty() || other->example->less_telling || other->example->large) continue;
    const double tolerance = other->tolerance.at(output.name);
    const std::optional<double> factor =
        factor_throughout(output, other->answer.at(output.name), other->expected.at(output.name), tolerance,
                          layout_of(output, *other->example));
    if (!factor || std::abs(*factor) <= most_room_of_known) continue;  // 0 is none
    const std::vector<KnownFactor> of_other = known_factors(*other->example);
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (!is_known_as(of_other[i], *factor)) known[i].value = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return known;
}

/// What the numbers of each wrong output have in common.
Lines patterns(const Task& task, const Played& witness, const std::vector<const Played*>& all) {
  return lines_on(task, witness,
                  [&](const Output& output, const Tensor64& answer, const Tensor64& expected,
                      double tolerance, const Layout& layout) {
                    return error_pattern(output, answer, expected, tolerance, layout,
                                         unrefuted_factors(output, witness, all));
                  });
}

/// What is said of a failure without a name: what the numbers of a wrong answer have in common, what the
/// wrong rows share, and what is right beside it. Where no computation is known that explains all answers
/// (`is_read` is false), also what a task's own arithmetic can tell of them.
/// @param all what was played of the task, at every world size
Lines hints(const PlayedTest& test, const Played& witness, bool is_read,
            const std::vector<const Played*>& all) {
  const Task& task = *test.test->task;
  Lines lines;
  if (!witness.answer.empty() && !is_right(witness)) {
    lines = zero_lines(task, witness, test.played, false);
    append(lines, patterns(task, witness, all));
    std::string of_all = !is_read && task.look ? task.look(witness, test.played) : "";
    if (!is_read && of_all.empty()) of_all = o_and_lse(task, witness, test.played);
    lines.push_back(of_all);
    lines.push_back(what_wrong_rows_share(task, test.played));
    lines.push_back(one_wrong_rank(task, test.played));
    lines.push_back(checks::shorter_message(*witness.example, *witness.outcome));
  }
  lines.push_back(right_and_side(task, witness, test.played));
  if (has_computed_nan(witness)) {
    lines.push_back(
        "arithmetic made a NaN, such as 0/0, -inf - (-inf), 0 times inf, or the log or root of a negative "
        "number");
  }
  return lines;
}

/// Which of several inputs ended the program, and where another one is shown, how: "the one on unequal shards
/// ended the program:" and a line.
std::string ending_words(const PlayedTest& test, const Played& shown) {
  const auto ended = std::find_if(test.played.rbegin(), test.played.rend(), did_not_return);
  if (ended == test.played.rend()) return "one of them ended the program";
  if (&*ended == &shown) return "this one ended the program";
  const std::string how = ended->complaint.empty() ? "" : ":\n  " + lines_of(ended->complaint).front();
  return fmt::format("the one on {} ended the program{}", ended->example->what, how);
}

/// "2 of 2 inputs fail; 8 more were not played: this one ended the program"
std::string count_words(const PlayedTest& test, const Played& shown, std::size_t failed) {
  std::size_t not_played = 0, large = 0;
  for (const Played& played : test.played) {
    if (played.outcome->ending != Outcome::Ending::NotPlayed) continue;
    ++not_played;
    large += played.example->large ? 1 : 0;
  }
  const std::size_t played = test.played.size() - not_played;
  if (not_played == 0) return failed > 1 ? fmt::format("{} of {} inputs fail", failed, played) : "";
  const std::string why = large == not_played ? "large inputs are, once all others pass"
                          : played == 1       ? "it ended the program"
                                              : ending_words(test, shown);
  return fmt::format("{} of {} inputs fail; {} more {} not played: {}", failed, played, not_played,
                     not_played == 1 ? "was" : "were", why);
}

/// What the answers look like, on some kinds of input or in some outputs, where no mistake explains them all.
Lines looks_like_in_part(const PlayedTest& test, const std::vector<const Played*>& all,
                         TestVerdict& verdict) {
  const Task& task = *test.test->task;
  const std::map<std::string, std::vector<std::string>> kinds = mistakes_by_kind(task, test.played);
  for (const auto& [mistake, on] : kinds) verdict.in_part.push_back(mistake);
  Lines lines = looks_in_part(test, kinds);
  if (!lines.empty()) return lines;
  for (const auto& [output, look] : mistakes_by_output(task, all)) {
    std::vector<std::string>& told = look.right_ones.empty() ? verdict.in_part : verdict.of_outputs;
    if (std::ranges::count(told, look.mistake) == 0) told.push_back(look.mistake);
    const std::string yet =
        look.right_ones.empty() ? "" : fmt::format(", and yet {} right", is_or_are(look.right_ones));
    lines.push_back(
        fmt::format("in {} it {}{}", output, looks_like(task.descriptions.at(look.mistake)), yet));
  }
  return lines;
}

/// What explains all answers where no name does: two mistakes between which no input decides, and another
/// computation. One that explains every answer says more than what some of them look like.
Lines explanations(const Task& task, const Played& shown, const std::vector<const Played*>& all,
                   const std::vector<std::string>& explaining) {
  Lines lines;
  if (explaining.size() == 2)
    lines.push_back(fmt::format("no input here tells which of two mistakes it is: either {}\nor {}",
                                task.descriptions.at(explaining[0]), task.descriptions.at(explaining[1])));
  lines.push_back(as_if(task, shown, all));
  std::erase(lines, "");
  return lines;
}

/// The kinds of input that pass beside these failures.
std::string passing_kinds(const PlayedTest& test, const std::vector<Failure>& failures) {
  std::set<const Played*> failed;
  for (const Failure& failure : failures) failed.insert(failure.played);
  return kinds_that_pass(test.played, failed);
}

/// Where the only failure is the input that is played after other calls, and without them as well.
std::string kept_between_calls(const std::vector<Failure>& failures, const Failure& shown) {
  if (failures.size() != 1 || !shown.played->example->called_before) return "";
  return "by itself the same input is right: something is kept from one call to the next, such as a static "
         "variable or a result that is known again by an address";
}

}  // namespace

std::string without_values(const Task& task, const Played& played) {
  const std::string where = "on a hidden input";
  if (played.outcome->ending == Outcome::Ending::Threw) return "the function threw " + where;
  if (played.outcome->ending == Outcome::Ending::Crashed) return "the program crashed " + where;
  if (played.outcome->ending == Outcome::Ending::Lost) return "there is no usable result " + where;
  if (played.answer.empty()) return played.complaint + "\n" + where;
  std::string wrong;
  for (const Output* output : wrong_outputs(task, played))
    wrong += (wrong.empty() ? "" : ", ") + output->in_words();
  return wrong.empty() ? "a rule is broken " + where : wrong + " is wrong " + where;
}

std::string failure_text_alone(const Failure& shown) {
  Lines lines = shown.lines;
  lines.push_back("on " + shown.played->example->what);
  std::erase(lines, "");
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string failure_text(const PlayedTest& test, const std::vector<Failure>& failures, const Failure& shown,
                         const std::vector<const Played*>& all, const std::vector<std::string>& explaining,
                         TestVerdict& verdict) {
  const Task& task = *test.test->task;
  const bool any_wrong = std::ranges::any_of(failures, &Failure::wrong_answer);
  const bool has_name = !verdict.mistakes.empty();
  const bool is_unnamed_answer = !has_name && shown.wrong_answer;
  Lines lines = is_unnamed_answer ? zero_lines(task, *shown.played, test.played, true) : Lines{};
  const Lines explained = is_unnamed_answer ? explanations(task, *shown.played, all, explaining) : Lines{};
  append(lines, explained);
  if (any_wrong && !has_name && explained.empty()) append(lines, looks_like_in_part(test, all, verdict));
  append(lines, shown.lines);
  lines.push_back("on " + shown.played->example->what);
  lines.push_back(kept_between_calls(failures, shown));
  if (has_name && any_wrong) lines.push_back(reading_beside_name(task, all));
  if (!has_name) append(lines, hints(test, *shown.played, !explained.empty(), all));
  lines.push_back(count_words(test, *shown.played, failures.size()));
  if (!has_name) lines.push_back(passing_kinds(test, failures));
  if (!has_name && any_wrong) lines.push_back(what_wrong_inputs_share(test.played));
  std::erase(lines, "");
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace course
