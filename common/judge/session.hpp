#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "judge/verdict.hpp"

namespace course {

/// What came of the tests that were played with one seed.
struct JudgedRound {
  std::uint64_t seed = 0;
  std::vector<const GradedTest*> tests;
  std::vector<TestVerdict> verdicts;  ///< by test
};

struct Seeds {
  std::uint64_t first = 1;
  int count = 1;
  /// Whether an example on which a task may allow too much ends all. So the course tests itself; elsewhere a
  /// seed that drew such an example is no reason to judge nothing, since the others are as sharp as ever.
  bool must_be_sharp = false;
  /// Of a submission with a mistake: whether what came of a later seed tells what it should. Empty for
  /// others.
  ///
  /// With a later seed a task of several ranks is played at one of its world sizes, which take turns, and on
  /// one of its inputs, which is drawn; large examples are left out (Example::large). A mistake is played
  /// with the tasks that it failed with the first seed alone, at one of the world sizes at which it failed:
  /// of the larger half, but the largest only where it is the only one. Some mistakes take an odd ring to
  /// show, most show in a large one, and the largest takes longer than the others together. It is played on
  /// one input, with one rank as well, which is drawn from those that came out wrong with the first seed; a
  /// seed for which that does not tell is played again on all.
  std::function<bool(const JudgedRound&)> tells;
};

using Examples = std::vector<std::shared_ptr<const Example>>;

/// The examples of one seed, by test. Every submission that is played with them finds what was worked out of
/// them for the one before, where the tasks are remembering().
class SharedExamples {
 public:
  const Examples& of(const GradedTest& test, std::uint64_t seed);

 private:
  std::map<std::pair<std::string, std::uint64_t>, Examples> drawn_;
};

/// Plays the chosen tests of a lesson with one or more seeds in as few launches as possible, and keeps
/// everything that the first seed's verdicts refer to.
class Session {
 public:
  /// @param shared where the first seed's examples are kept; must live as long. Null: here alone.
  Session(std::vector<GradedTest> tests, LauncherOptions options, Seeds seeds,
          SharedExamples* shared = nullptr);

  void play();

  const std::vector<GradedTest>& tests() const { return tests_; }
  /// The first seed's verdicts, by test.
  const std::vector<TestVerdict>& verdicts() const { return judged_.at(0).verdicts; }
  /// The verdicts of every seed.
  const std::vector<JudgedRound>& judged() const { return judged_; }

 private:
  struct Round {
    std::vector<const GradedTest*> tests;
    std::vector<Examples> examples;  ///< by test
    std::vector<std::vector<Answer>> truths;
    std::vector<std::vector<Outcome>> outcomes;
    std::vector<PlayedTest> played;
  };

  enum class Inputs { All, Few };

  /// Plays and judges the seeds with these indices.
  void play_rounds(const std::vector<int>& indices, Inputs inputs);
  std::vector<const GradedTest*> choose(int round) const;
  /// Of one task's tests, those that a later seed may play.
  std::vector<const GradedTest*> candidates(const std::vector<const GradedTest*>& tests) const;
  /// With the examples and truths of what the index'th seed plays.
  Round draw(std::vector<const GradedTest*> tests, int index, Inputs inputs) const;
  Examples inputs_of(const GradedTest& test, int index, Inputs inputs) const;
  /// Of a later seed's examples, which may be played: by index.
  std::vector<std::size_t> playable(const GradedTest& test, const Examples& examples) const;
  bool was_wrong(const GradedTest& test, std::size_t example) const;  ///< with the first seed
  bool fails_on_large_alone(const GradedTest& test) const;
  const TestVerdict& verdict_on(const GradedTest& test) const;  ///< with the first seed
  std::size_t place_of(const GradedTest& test) const;           ///< in tests_
  static std::vector<std::size_t> counts(const Round& round);
  static std::vector<Case> cases(const std::vector<Round>& rounds);
  static void take(std::vector<Round>& rounds, std::vector<Outcome> outcomes);
  std::vector<TestVerdict> judge_round(Round& round) const;

  std::vector<GradedTest> tests_;
  Launcher launcher_;
  Seeds seeds_;
  SharedExamples* shared_;
  Round first_round_;  ///< which the first seed's verdicts refer to
  std::vector<JudgedRound> judged_;
};

}  // namespace course
