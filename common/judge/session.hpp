#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "judge/verdict.hpp"

namespace course {

/// Plays the chosen tests of a lesson with one or more seeds in as few launches as possible, and keeps
/// everything that verdicts refer to.
class Session {
 public:
  Session(std::vector<GradedTest> tests, LauncherOptions options, std::uint64_t first_seed, int seeds);

  void play();

  const std::vector<GradedTest>& tests() const { return tests_; }
  int seeds() const { return static_cast<int>(rounds_.size()); }
  std::uint64_t seed(int round) const { return first_seed_ + static_cast<std::uint64_t>(round); }
  /// By test, for the round'th seed.
  const std::vector<TestVerdict>& verdicts(int round) const { return rounds_.at(round).verdicts; }

 private:
  struct Round {
    std::vector<std::vector<Example>> examples;  ///< by test
    std::vector<std::vector<Outcome>> outcomes;
    std::vector<PlayedTest> played;
    std::vector<TestVerdict> verdicts;
  };

  void draw(Round& round, std::uint64_t seed) const;
  std::vector<Case> cases() const;
  void take(std::vector<Outcome> outcomes);
  void judge_round(Round& round) const;

  std::vector<GradedTest> tests_;
  LauncherOptions options_;
  std::uint64_t first_seed_;
  std::vector<Round> rounds_;
};

}  // namespace course
