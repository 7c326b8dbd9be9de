#include "judge/diagnosis/failure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "judge/diagnosis/inputs_compared.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/wrong_entries.hpp"

namespace course {

namespace {

/// Why an answer is not right.
Lines complaints(const Task& task, const Played& played) {
  if (played.answer.empty()) return {played.complaint};
  Lines lines = lines_on(task, played, locate);
  if (task.explain) lines.push_back(task.explain(played));
  return lines;
}

/// How many findings of one input are told.
constexpr std::size_t most_findings = 3;

/// What the instruments tell of how the call ended.
void take_ending(const Outcome& outcome, Failure& failure) {
  if (outcome.told) failure.fact = outcome.told->kind;
  failure.has_line = outcome.ending == Outcome::Ending::Crashed && !outcome.by_signal;  // by a sanitizer
}

Failure failure_on(const Task& task, const Played& played, const std::vector<Finding>& findings) {
  Failure failure{&played};
  take_ending(*played.outcome, failure);
  const bool right = is_right(played);
  failure.wrong_answer = !right && !played.answer.empty();
  if (!right) failure.lines = complaints(task, played);
  std::size_t texts = 0;
  for (const Finding& finding : findings) {
    // A check of a family's may know mistakes that the lesson's mistakes.md does not have.
    if (task.descriptions.contains(finding.mistake)) failure.mistakes.insert(finding.mistake);
    if (failure.fact.empty()) failure.fact = finding.fact;
    if (finding.text.empty() || texts++ >= most_findings) continue;
    failure.lines.push_back(finding.text);
    failure.has_line |= finding.has_line;
  }
  if (const std::size_t more = texts - std::min(texts, most_findings); more > 0)
    failure.lines.push_back(fmt::format("and {} more check{}", more, more == 1 ? " fails" : "s fail"));
  std::erase(failure.lines, "");
  return failure;
}

/// Takes back names that a right answer of the same test refutes (Task::fail_on_all_inputs).
void take_back_names(const PlayedTest& test, std::vector<Failure>& failures) {
  if (std::ranges::none_of(test.played, is_right)) return;
  for (Failure& failure : failures) {
    for (const std::string& mistake : test.test->task->fail_on_all_inputs) failure.mistakes.erase(mistake);
  }
}

}  // namespace

Lines lines_on(const Task& task, const Played& played, const Words& words) {
  Lines lines;
  for (const Output* output : wrong_outputs(task, played)) {
    const std::string name = output->name;
    lines.push_back(words(*output, played.answer.at(name), played.expected.at(name),
                          played.tolerance.at(name), layout_of(*output, *played.example)));
  }
  return lines;
}

std::vector<Finding> findings_on(const Task& task, const Played& played) {
  using Ending = Outcome::Ending;
  if (played.outcome->ending == Ending::NotPlayed || played.outcome->ending == Ending::Todo) return {};
  std::vector<Finding> all;
  for (const CommunicationCheck& look : task.communication_checks)
    std::ranges::move(look(*played.example, *played.outcome), std::back_inserter(all));
  for (const AnswerCheck& check : task.answer_checks) {
    if (!played.answer.empty() && !played.example->far_out)
      std::ranges::move(check(played), std::back_inserter(all));
  }
  return all;
}

std::vector<Failure> failures_of(const PlayedTest& test, const Findings& findings) {
  using Ending = Outcome::Ending;
  std::vector<Failure> failures;
  for (std::size_t i = 0; i < test.played.size(); ++i) {
    const Ending ending = test.played[i].outcome->ending;
    if (ending == Ending::NotPlayed || ending == Ending::Todo) continue;
    Failure failure = failure_on(*test.test->task, test.played[i], findings[i]);
    if (!failure.lines.empty()) failures.push_back(std::move(failure));
  }
  take_back_names(test, failures);
  return failures;
}

const Failure& most_telling(const Task& task, const std::vector<Failure>& failures,
                            const std::set<std::string>& mistakes) {
  for (const bool left_out : {false, true}) {
    const auto by_finding = std::ranges::find_if(failures, [&](const Failure& failure) {
      return std::ranges::any_of(failure.mistakes,
                                 [&](const std::string& id) { return left_out || mistakes.contains(id); });
    });
    if (by_finding != failures.end()) return *by_finding;
  }
  std::vector<const Played*> wrong;
  for (const Failure& failure : failures) {
    if (failure.wrong_answer) wrong.push_back(failure.played);
  }
  if (wrong.empty() || (mistakes.empty() && !failures.front().wrong_answer)) return failures.front();
  return *std::ranges::find(failures, simplest(task, wrong, mistakes.empty()), &Failure::played);
}

}  // namespace course
