#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "judge/diagnosis/diagnose.hpp"
#include "judge/task.hpp"
#include "registry/registry.hpp"

namespace course {

/// One graded test: a task at one world size.
struct GradedTest {
  const Task* task;
  int ranks;  ///< 0 for a task on one rank
  bool hidden = false;
  std::string name() const { return test_name(task->id, ranks, hidden); }
};

/// The answer that came nearest to an output's tolerance, or farthest beyond it.
struct TakenTolerance {
  double part = 0;   ///< its relative error over the tolerance
  std::string what;  ///< the kind of input
};

struct TestVerdict {
  enum class Status { Passed, Failed, Todo, NotPlayed } status = Status::NotPlayed;
  std::string text;                 ///< several lines: where, how much, on what input
  std::set<std::string> mistakes;   ///< earned names, ids of mistakes.md
  const Played* witness = nullptr;  ///< the example that the text speaks of; kept of the first seed alone
  /// Ids of the mistakes that it looks like on some kinds of input or in some outputs, where none has earned
  /// its name.
  std::vector<std::string> in_part = {};
  /// Those that one output looks like where others are right, which it then is not.
  std::vector<std::string> of_outputs = {};
  std::string fact = {};                             ///< Failure::fact of what is shown; "" of a hidden test
  bool has_line = false;                             ///< the same of Failure::has_line
  std::map<std::string, TakenTolerance> taken = {};  ///< by output
  std::string costs = {};                            ///< of a test that has passed: costs_text()
  std::string before = {};                           ///< a line that comes first: what may be the cause
};

using Examples = std::vector<std::shared_ptr<const Example>>;

/// One test with one seed.
struct PlayedTest {
  const GradedTest* test;
  std::vector<Played> played = {};  ///< by example, refers to the two below
  Examples examples = {};
  std::vector<Outcome> outcomes = {};
  TestVerdict verdict = {};

  bool failed() const { return verdict.status == TestVerdict::Status::Failed; }
};

/// Gives all tests that were played with one seed their verdicts. Tests of a task share evidence: a mistake
/// is named only if it explains them all.
/// @param alone one example was played by itself: too little to say what the answer looks like, so it is only
/// said what is wrong
/// @param known by task, the ids of the mistakes that explain other answers of the submission's to it, which
/// are taken in place of those that explain these
void judge(std::vector<PlayedTest>& tests, bool alone = false,
           const std::map<const Task*, std::vector<std::string>>& known = {});

/// How the call ended that a failed test's text is about, as JudgeReport::Test has it.
std::string ending_of(const Played& witness);

/// The wrong outputs of an answer around their worst entries, beside what is right: a table each. Empty where
/// no output is wrong.
std::string numbers_text(const Task& task, const Played& played);

/// What a person reads of one graded test: a line where it passed, a paragraph where it failed.
/// @param whole not cut short where another task's failure may be the cause
std::string verdict_text(const LessonInfo& lesson, const GradedTest& test, const TestVerdict& verdict,
                         bool whole = false);

/// The same of all tests. Of failures of one task that look alike the first is told, and of the others their
/// world sizes. `below` has a line to go under a test, by the test's name.
std::string verdict_texts(const LessonInfo& lesson, const std::vector<PlayedTest>& tests,
                          const std::map<std::string, std::string>& below);

}  // namespace course
