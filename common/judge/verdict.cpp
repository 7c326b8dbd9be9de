#include "judge/verdict.hpp"

#include <fmt/format.h>

#include <map>

#include "judge/compare.hpp"

namespace course {

namespace {

std::vector<Finding> findings_on(const Task& task, const Played& played) {
  std::vector<Finding> all;
  for (const Conduct& look : task.conduct) {
    for (Finding& finding : look(*played.example, *played.outcome)) all.push_back(std::move(finding));
  }
  return all;
}

std::string wrong_outputs(const Task& task, const Played& played) {
  std::string text;
  for (const Output& output : task.outputs) {
    const Tensor64& answer = played.answer.at(output.name);
    const Tensor64& truth = played.truth.at(output.name);
    const double allowed = played.tolerance.at(output.name);
    if (relative_error(answer, truth) <= allowed) continue;
    if (!text.empty()) text += "\n";
    text += locate(output, answer, truth, allowed, played.example->shard_tokens);
  }
  if (task.explain) {
    const std::string explanation = task.explain(*played.example, *played.outcome);
    if (!explanation.empty()) text += "\n" + explanation;
  }
  return text;
}

/// Judges one test, given the names that explain its task's answers.
class TestJudge {
 public:
  TestJudge(const PlayedTest& played, const std::vector<std::string>& explaining)
      : task_(*played.test->task), played_(played), explaining_(explaining) {}

  TestVerdict verdict() {
    for (const Played& played : played_.examples) visit(played);
    if (wrong_ > 0 && explaining_.size() == 1) verdict_.mistakes.insert(explaining_.front());
    if (failed_ > 1) {
      verdict_.text += fmt::format("\n{} of {} inputs fail", failed_, played_.examples.size());
    }
    return verdict_;
  }

 private:
  void visit(const Played& played) {
    using Ending = Outcome::Ending;
    if (played.outcome->ending == Ending::NotPlayed) return;
    if (verdict_.status == TestVerdict::Status::NotPlayed) verdict_.status = TestVerdict::Status::Passed;
    if (played.outcome->ending == Ending::Todo) {
      verdict_ = {TestVerdict::Status::Todo, played.complaint, {}, &played};
      return;
    }
    const std::vector<Finding> findings = findings_on(task_, played);
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
    verdict_.text = text + "\non " + played.example->what;
    verdict_.witness = &played;
  }

  const Task& task_;
  const PlayedTest& played_;
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
  std::vector<TestVerdict> verdicts;
  for (const PlayedTest& test : tests)
    verdicts.push_back(TestJudge(test, explaining[test.test->task]).verdict());
  return verdicts;
}

}  // namespace course
