#include "judge/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "judge/diagnose.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/wrong_entries.hpp"
#include "judge/parallel.hpp"

namespace course {

namespace {

/// What the instruments and checks have against one example.
std::vector<Finding> findings_on(const Task& task, const Played& played) {
  using Ending = Outcome::Ending;
  if (played.outcome->ending == Ending::NotPlayed || played.outcome->ending == Ending::Todo) return {};
  std::vector<Finding> all;
  for (const CommunicationCheck& look : task.communication_checks)
    std::ranges::move(look(*played.example, *played.outcome), std::back_inserter(all));
  for (const AnswerCheck& check : task.answer_checks) {
    if (!played.answer.empty()) std::ranges::move(check(played), std::back_inserter(all));
  }
  return all;
}

std::vector<const Output*> wrong_outputs(const Task& task, const Played& played) {
  std::vector<const Output*> wrong;
  for (const Output& output : task.outputs) {
    const double error = relative_error(played.answer.at(output.name), played.expected.at(output.name));
    if (error > played.tolerance.at(output.name)) wrong.push_back(&output);
  }
  return wrong;
}

using Words = std::string (*)(const Output&, const Tensor64& answer, const Tensor64& expected,
                              double tolerance, const Layout& layout);

using Lines = std::vector<std::string>;  // some of several lines

/// What `words` has to say of each wrong output.
Lines lines_on(const Task& task, const Played& played, Words words) {
  Lines lines;
  for (const Output* output : wrong_outputs(task, played)) {
    const std::string name = output->name;
    lines.push_back(words(*output, played.answer.at(name), played.expected.at(name),
                          played.tolerance.at(name), played.example->layout));
  }
  return lines;
}

/// Why an answer is not right.
Lines complaints(const Task& task, const Played& played) {
  if (played.answer.empty()) return {played.complaint};
  Lines lines = lines_on(task, played, locate);
  if (task.explain) lines.push_back(task.explain(*played.example, *played.outcome));
  return lines;
}

/// Whether an output is NaN somewhere where it should be a number.
bool is_nan_for_a_number(const Played& played) {
  return std::any_of(played.answer.begin(), played.answer.end(), [&](const auto& output) {
    const std::vector<double>& answer = output.second.values();
    const std::vector<double>& expected = played.expected.at(output.first).values();
    return !std::equal(answer.begin(), answer.end(), expected.begin(), [](double given, double right) {
      return !std::isnan(given) || !std::isfinite(right);
    });
  });
}

/// What is said of a failure without a name: what the numbers of a wrong answer have in common, and after
/// which change of the inputs `all` that was played of the task would be right.
Lines hints(const Task& task, const Played& witness, const std::vector<const Played*>& all) {
  Lines lines;
  if (!witness.answer.empty() && !is_right(witness)) {
    lines = lines_on(task, witness, error_pattern);
    lines.push_back(as_if(task, witness, all));
  }
  if (is_nan_for_a_number(witness)) {
    lines.push_back(
        "outputs start as NaN: an entry that is never written, or is added to before it is set, stays NaN");
  }
  return lines;
}

/// What is wrong on a hidden input, without a number of it: what a function throws, prints or hands over may
/// quote its input.
std::string without_values(const Task& task, const Played& played) {
  const std::string where = "on a hidden input";
  if (played.outcome->ending == Outcome::Ending::Threw) return "the function threw " + where;
  if (played.outcome->ending == Outcome::Ending::Crashed) return "the program crashed " + where;
  if (played.outcome->ending == Outcome::Ending::Lost) return "there is no usable result " + where;
  if (played.answer.empty()) return played.complaint + "\n" + where;
  std::string wrong;
  for (const Output* output : wrong_outputs(task, played))
    wrong += (wrong.empty() ? "" : ", ") + output->name;
  return wrong.empty() ? "a communication check fails " + where : wrong + " is wrong " + where;
}

/// What is found of each example of a test.
using Findings = std::vector<std::vector<Finding>>;

/// What speaks for or against all that was played of one task.
struct Evidence {
  std::vector<const Played*> all = {};
  std::vector<std::string> explaining = {};  ///< names of mistakes
};

TestVerdict verdict_on(const PlayedTest& test, const Findings& findings, const Evidence& evidence) {
  using Ending = Outcome::Ending;
  using Status = TestVerdict::Status;
  const Task& task = *test.test->task;
  TestVerdict verdict;
  int failed = 0;
  bool any_wrong = false;
  for (std::size_t i = 0; i < test.played.size(); ++i) {
    const Played& played = test.played[i];
    if (played.outcome->ending == Ending::NotPlayed) continue;
    if (verdict.status == Status::NotPlayed) verdict.status = Status::Passed;
    if (played.outcome->ending == Ending::Todo) {
      if (failed == 0) verdict = {Status::Todo, played.complaint, {}, &played};
      continue;
    }
    const bool right = is_right(played);
    any_wrong |= !right && !played.answer.empty();
    Lines lines;
    if (!right) lines = complaints(task, played);
    for (const Finding& finding : findings[i]) {
      if (!finding.mistake.empty()) verdict.mistakes.insert(finding.mistake);
      lines.push_back(finding.text);
    }
    std::erase(lines, "");
    if (lines.empty() || failed++ > 0) continue;
    verdict.status = Status::Failed;
    verdict.text = test.test->hidden ? without_values(task, played)
                                     : fmt::format("{}\non {}", fmt::join(lines, "\n"), played.example->what);
    verdict.witness = &played;
  }
  if (any_wrong && evidence.explaining.size() == 1) verdict.mistakes.insert(evidence.explaining.front());
  if (failed > 0 && verdict.mistakes.empty() && !test.test->hidden) {
    for (const std::string& line : hints(task, *verdict.witness, evidence.all))
      verdict.text += line.empty() ? "" : "\n" + line;
  }
  if (failed > 1) verdict.text += fmt::format("\n{} of {} inputs fail", failed, test.played.size());
  return verdict;
}

std::string indented(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '\n' ? std::string("\n      ") : std::string(1, c);
  return result;
}

}  // namespace

void judge(std::vector<PlayedTest>& tests) {
  std::map<const Task*, Evidence> by_task;
  std::vector<std::size_t> counts;
  std::vector<Findings> findings;
  for (const PlayedTest& test : tests) {
    for (const Played& played : test.played) by_task[test.test->task].all.push_back(&played);
    counts.push_back(test.played.size());
    findings.emplace_back(test.played.size());
  }
  for (auto& [task, evidence] : by_task) evidence.explaining = explaining_mistakes(*task, evidence.all);
  // Looking at an answer may take as long as playing it.
  for_each_in_parallel(counts, [&](std::size_t i, std::size_t j) {
    findings[i][j] = findings_on(*tests[i].test->task, tests[i].played[j]);
  });
  for (std::size_t i = 0; i < tests.size(); ++i)
    tests[i].verdict = verdict_on(tests[i], findings[i], by_task[tests[i].test->task]);
}

std::string verdict_text(const LessonInfo& lesson, const GradedTest& test, const TestVerdict& verdict) {
  const std::string title = lesson.tag() + "." + test.name();
  switch (verdict.status) {
    case TestVerdict::Status::Passed:
      return fmt::format("PASS  {}\n", title);
    case TestVerdict::Status::Todo:
      return fmt::format("TODO  {}   {}\n", title, verdict.text);
    case TestVerdict::Status::NotPlayed:
      return fmt::format("FAIL  {}   not played: an earlier case of this task ended the player\n", title);
    case TestVerdict::Status::Failed:
      break;
  }
  std::string text = fmt::format("FAIL  {}   {}\n", title, indented(verdict.text));
  for (const std::string& id : verdict.mistakes) {
    text += fmt::format("      looks like: {}.   ./course hint {}\n", lesson.mistake(id).what, lesson.id);
  }
  return text;
}

}  // namespace course
