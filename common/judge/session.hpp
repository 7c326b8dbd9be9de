#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "judge/verdict.hpp"

namespace course {

/// What came of the tests that were played with one seed.
struct JudgedRound {
  std::uint64_t seed;
  std::vector<const GradedTest*> tests;
  std::vector<TestVerdict> verdicts;  ///< by test
};

struct Seeds {
  std::uint64_t first = 1;
  int count = 1;
  /// With a later seed a task of several ranks is played at one of its world sizes, which take turns, and on
  /// one of its inputs, which is drawn. A submission with a mistake is played with the tasks that it failed
  /// with the first seed alone, on all inputs, which together tell its name, at one of the world sizes at
  /// which it failed: of the larger half, but the largest only where it is the only one. Some mistakes take
  /// an odd ring to show, most show in a large one, and the largest takes longer than the others together.
  /// Large examples are left out (Example::large).
  bool only_what_failed = false;
};

/// Plays the chosen tests of a lesson with one or more seeds in as few launches as possible, and keeps
/// everything that the first seed's verdicts refer to.
class Session {
 public:
  Session(std::vector<GradedTest> tests, LauncherOptions options, Seeds seeds);

  void play();

  const std::vector<GradedTest>& tests() const { return tests_; }
  /// The first seed's verdicts, by test.
  const std::vector<TestVerdict>& verdicts() const { return judged_.at(0).verdicts; }
  /// The verdicts of every seed.
  const std::vector<JudgedRound>& judged() const { return judged_; }

 private:
  struct Round {
    std::vector<const GradedTest*> tests;
    std::vector<std::vector<Example>> examples;  ///< by test
    std::vector<std::vector<Answer>> truths;
    std::vector<std::vector<Outcome>> outcomes;
    std::vector<PlayedTest> played;
  };

  /// The seeds from the begin'th to before the end'th.
  void play_rounds(int begin, int end);
  std::vector<const GradedTest*> choose(int round) const;
  /// Of one task's tests, those that a later seed may play.
  std::vector<const GradedTest*> candidates(const std::vector<const GradedTest*>& tests) const;
  /// With the examples and truths of what the index'th seed plays.
  Round draw(std::vector<const GradedTest*> tests, int index) const;
  bool fails_on_large_alone(const GradedTest& test) const;
  const TestVerdict& verdict_on(const GradedTest& test) const;  ///< with the first seed
  static std::vector<Example> draw_examples(const GradedTest& test, std::uint64_t seed);
  static std::vector<std::size_t> counts(const Round& round);
  static std::vector<Case> cases(const std::vector<Round>& rounds);
  static void take(std::vector<Round>& rounds, std::vector<Outcome> outcomes);
  static std::vector<TestVerdict> judge_round(Round& round);

  std::vector<GradedTest> tests_;
  Launcher launcher_;
  Seeds seeds_;
  Round first_round_;  ///< which the first seed's verdicts refer to
  std::vector<JudgedRound> judged_;
};

}  // namespace course
