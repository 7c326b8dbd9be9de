#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "judge/diagnosis/diagnose.hpp"
#include "judge/diagnosis/verdict.hpp"
#include "judge/task.hpp"

namespace course {

using Lines = std::vector<std::string>;  // an entry may hold several lines

using Words = std::function<std::string(const Output&, const Tensor64& answer, const Tensor64& expected,
                                        double tolerance, const Layout& layout)>;

/// What `words` has to say of each wrong output.
Lines lines_on(const Task& task, const Played& played, const Words& words);

/// What is wrong with one example.
struct Failure {
  const Played* played;
  Lines lines = {};
  std::set<std::string> mistakes = {};  ///< that its findings name
  bool wrong_answer = false;
  std::string fact = {};  ///< the kind of the fact that it shows, its exception's before its findings'
  bool has_line = false;  ///< an instrument has named a line of a source file in it
};

/// What the instruments and checks have against one example.
std::vector<Finding> findings_on(const Task& task, const Played& played);

/// What is found of each example of a test.
using Findings = std::vector<std::vector<Finding>>;

/// The examples of a test that failed, without names that a right answer of the same test refutes
/// (Task::fail_on_all_inputs).
std::vector<Failure> failures_of(const PlayedTest& test, const Findings& findings);

/// The failure that shows what the verdict says:
/// 1. the first that a finding gives one of the verdict's names, or else a name that the verdict leaves out;
/// 2. where the verdict has a name, or the first failure is a wrong answer: the wrong answer on the simplest
///    input;
/// 3. the first.
const Failure& most_telling(const Task& task, const std::vector<Failure>& failures,
                            const std::set<std::string>& mistakes);

}  // namespace course
