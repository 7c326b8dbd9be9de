#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "judge/verdict.hpp"
#include "runner/launcher.hpp"

namespace course {

using Examples = std::vector<std::shared_ptr<const Example>>;

/// The examples that a test has with a seed.
Examples examples_of(const GradedTest& test, std::uint64_t seed);

/// The examples of one seed, by test. Every submission that is played with them finds what was worked out of
/// them for the one before, where the tasks are remembering().
class SharedExamples {
 public:
  const Examples& of(const GradedTest& test, std::uint64_t seed);

 private:
  std::map<std::pair<std::string, std::uint64_t>, Examples> all_;
};

/// The verdicts on some tests with one seed.
struct JudgedRound {
  std::uint64_t seed = 0;
  std::vector<const GradedTest*> tests;
  std::vector<TestVerdict> verdicts;  ///< by test
};

/// Some tests with the examples of one seed, and all that was played of them.
struct Round : JudgedRound {
  std::vector<Examples> examples;             ///< by test
  std::vector<std::vector<Answer>> expected;  ///< by test and example
  std::vector<std::vector<Outcome>> outcomes;
  std::vector<PlayedTest> played;  ///< refers to the three above
};

/// A round of which nothing was played yet, its expected answers worked out.
Round prepare(std::uint64_t seed, std::vector<const GradedTest*> tests, std::vector<Examples> examples);

/// Which examples to play: those for which this says so of a round, a test's index and an example's index.
using Chosen = std::function<bool(const Round&, std::size_t test, std::size_t example)>;

/// Plays the chosen examples of all these rounds in as few launches as possible.
void play(std::vector<Round>& rounds, const Chosen& chosen, Launcher& launcher);

/// Compares what was played with what is expected.
/// @param must_be_sharp throws where a task may allow too much: require_sharp()
void compare(Round& round, bool must_be_sharp);

}  // namespace course
