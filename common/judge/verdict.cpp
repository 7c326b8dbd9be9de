#include "judge/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "judge/as_if.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/error_pattern.hpp"
#include "judge/parallel.hpp"

namespace course {

namespace {

std::vector<Finding> findings_on(const Task& task, const Played& played) {
  using Ending = Outcome::Ending;
  if (played.outcome->ending == Ending::NotPlayed || played.outcome->ending == Ending::Todo) return {};
  std::vector<Finding> all;
  for (const CommunicationCheck& look : task.communication_checks) {
    for (Finding& finding : look(*played.example, *played.outcome)) all.push_back(std::move(finding));
  }
  if (played.answer.empty()) return all;
  for (const AnswerCheck& check : task.answer_checks) {
    for (Finding& finding : check(played)) all.push_back(std::move(finding));
  }
  return all;
}

std::string wrong_outputs(const Task& task, const Played& played) {
  std::string text;
  for (const Output& output : task.outputs) {
    const Tensor64& answer = played.answer.at(output.name);
    const Tensor64& expected = played.expected.at(output.name);
    const double allowed = played.tolerance.at(output.name);
    if (relative_error(answer, expected) <= allowed) continue;
    if (!text.empty()) text += "\n";
    text += locate(output, answer, expected, allowed, played.example->shard_tokens);
  }
  if (task.explain) {
    const std::string explanation = task.explain(*played.example, *played.outcome);
    if (!explanation.empty()) text += "\n" + explanation;
  }
  return text;
}

/// What the numbers of a wrong answer have in common, a line for each output that shows it, and after which
/// change of the inputs `all` that was played of the task would be right.
std::string patterns(const Task& task, const Played& witness, const std::vector<const Played*>& all) {
  if (witness.answer.empty() || is_right(witness)) return "";
  std::string text;
  for (const Output& output : task.outputs) {
    const std::string line =
        error_pattern(output, witness.answer.at(output.name), witness.expected.at(output.name),
                      witness.tolerance.at(output.name), witness.example->shard_tokens);
    if (!line.empty()) text += "\n" + line;
  }
  const std::string changed = as_if(task, witness, all);
  return changed.empty() ? text : text + "\n" + changed;
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
  for (const Output& output : task.outputs) {
    const double error = relative_error(played.answer.at(output.name), played.expected.at(output.name));
    if (error <= played.tolerance.at(output.name)) continue;
    wrong += (wrong.empty() ? "" : ", ") + output.name;
  }
  return wrong.empty() ? "a communication check fails " + where : wrong + " is wrong " + where;
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

/// What the instruments and checks have against each example of a test.
using Findings = std::vector<std::vector<Finding>>;

/// By test. Looking at an answer may take as long as playing it.
std::vector<Findings> findings_on(const std::vector<PlayedTest>& tests) {
  std::vector<Findings> all;
  std::vector<std::size_t> counts;
  for (const PlayedTest& test : tests) {
    counts.push_back(test.examples.size());
    all.emplace_back(test.examples.size());
  }
  for_each_in_parallel(counts, [&](std::size_t i, std::size_t j) {
    all[i][j] = findings_on(*tests[i].test->task, tests[i].examples[j]);
  });
  return all;
}

/// Judges one test, given all that was played of its task and the names that explain it.
class TestJudge {
 public:
  TestJudge(const PlayedTest& played, const Findings& findings, const std::vector<const Played*>& all,
            const std::vector<std::string>& explaining)
      : task_(*played.test->task), played_(played), findings_(findings), all_(all), explaining_(explaining) {}

  TestVerdict verdict() {
    for (std::size_t i = 0; i < played_.examples.size(); ++i) visit(played_.examples[i], findings_[i]);
    if (wrong_ > 0 && explaining_.size() == 1) verdict_.mistakes.insert(explaining_.front());
    if (failed_ > 0 && verdict_.mistakes.empty() && !played_.test->hidden) {
      verdict_.text += patterns(task_, *verdict_.witness, all_);
      if (is_nan_for_a_number(*verdict_.witness)) {
        verdict_.text +=
            "\noutputs start as NaN: an entry that is never written, or is added to before it is set, stays "
            "NaN";
      }
    }
    if (failed_ > 1) {
      verdict_.text += fmt::format("\n{} of {} inputs fail", failed_, played_.examples.size());
    }
    return verdict_;
  }

 private:
  void visit(const Played& played, const std::vector<Finding>& findings) {
    using Ending = Outcome::Ending;
    if (played.outcome->ending == Ending::NotPlayed) return;
    if (verdict_.status == TestVerdict::Status::NotPlayed) verdict_.status = TestVerdict::Status::Passed;
    if (played.outcome->ending == Ending::Todo) {
      if (failed_ == 0) verdict_ = {TestVerdict::Status::Todo, played.complaint, {}, &played};
      return;
    }
    std::string text = is_right(played) ? "" : complaint(played);
    for (const Finding& finding : findings) {
      if (!finding.mistake.empty()) verdict_.mistakes.insert(finding.mistake);
      if (!finding.text.empty()) text += (text.empty() ? "" : "\n") + finding.text;
    }
    if (!text.empty()) fail(played, text);
  }

  std::string complaint(const Played& played) {
    if (played.answer.empty()) return played.complaint;
    ++wrong_;
    return wrong_outputs(task_, played);
  }

  void fail(const Played& played, const std::string& text) {
    if (failed_++ > 0) return;
    verdict_.status = TestVerdict::Status::Failed;
    verdict_.text =
        played_.test->hidden ? without_values(task_, played) : text + "\non " + played.example->what;
    verdict_.witness = &played;
  }

  const Task& task_;
  const PlayedTest& played_;
  const Findings& findings_;
  const std::vector<const Played*>& all_;
  const std::vector<std::string>& explaining_;
  TestVerdict verdict_;
  int failed_ = 0;
  int wrong_ = 0;
};

}  // namespace

std::vector<TestVerdict> judge(const std::vector<PlayedTest>& tests) {
  std::map<const Task*, std::vector<const Played*>> by_task;
  for (const PlayedTest& test : tests) {
    for (const Played& played : test.examples) by_task[test.test->task].push_back(&played);
  }
  std::map<const Task*, std::vector<std::string>> explaining;
  for (const auto& [task, all] : by_task) explaining[task] = explaining_mistakes(*task, all);
  const std::vector<Findings> findings = findings_on(tests);
  std::vector<TestVerdict> verdicts;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const Task* task = tests[i].test->task;
    verdicts.push_back(TestJudge(tests[i], findings[i], by_task[task], explaining[task]).verdict());
  }
  return verdicts;
}

}  // namespace course
