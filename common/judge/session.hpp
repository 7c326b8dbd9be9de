#pragma once

#include <cstdint>
#include <vector>

#include "judge/round.hpp"

namespace course {

struct SessionOptions {
  std::uint64_t seed = 1;
  /// Whether an example on which a task may allow too much ends all. So the course tests itself; elsewhere a
  /// seed that drew such an example is no reason to judge nothing, since the others are as sharp as ever.
  bool must_be_sharp = false;
  /// Whether a test with a wrong answer is spared its large examples. A person is shown all that is wrong.
  bool spare_large = false;
  /// Where the examples are kept; must live as long. Null: here alone.
  SharedExamples* shared = nullptr;
};

/// Plays the chosen tests of a lesson with one seed, and keeps everything that the verdicts refer to.
class Session {
 public:
  Session(std::vector<GradedTest> tests, LauncherOptions launcher, SessionOptions options);

  void play();

  const std::vector<GradedTest>& tests() const { return tests_; }
  const SessionOptions& options() const { return options_; }
  const Round& round() const { return rounds_.at(0); }
  /// By test.
  const std::vector<TestVerdict>& verdicts() const { return round().verdicts; }
  Launcher& launcher() { return launcher_; }

 private:
  Round prepared() const;

  std::vector<GradedTest> tests_;
  Launcher launcher_;
  SessionOptions options_;
  std::vector<Round> rounds_;  ///< one, once it is played
};

}  // namespace course
