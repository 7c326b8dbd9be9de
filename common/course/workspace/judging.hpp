#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"
#include "course/workspace/saved_results.hpp"

namespace course::program {

/// Which of a lesson's tests to play.
struct TestSelection {
  std::string task;          ///< empty: every task
  std::optional<int> ranks;  ///< nullopt: every world size
};

/// The names of the tests chosen. Throws UsageError when the lesson has no such task or world size.
std::vector<std::string> selected_tests(const LessonInfo& lesson, const TestSelection& selection);

/// The judge that this build has for a lesson.
std::filesystem::path judge_of(const std::filesystem::path& tree, const LessonInfo& lesson);

/// The player that this build has for a lesson.
std::filesystem::path built_in_player(const std::filesystem::path& tree, const LessonInfo& lesson);

/// How to start a judge.
struct GradingOrder {
  const LessonInfo* lesson = nullptr;
  std::vector<std::string> tests;   ///< by name
  std::filesystem::path tree;       ///< the build that the judge comes from
  std::filesystem::path subject;    ///< what is judged, from the root
  std::vector<std::string> player;  ///< the player's command
  std::optional<std::uint64_t> seed;
  std::filesystem::path keep;  ///< where failing cases are kept, from the root; empty: nowhere
  bool quiet = false;          ///< the judge's own words are not shown
  /// For code that is not trusted: the isolation's name and the user it runs as.
  std::optional<std::pair<std::string, unsigned>> confined_as = std::nullopt;
  std::vector<std::string> limits = {};  ///< on it, as options of the judge: {"--memory-limit", "1000000"}
  bool hidden = false;                   ///< the lesson's hidden tests, too
  /// What has to follow `./course replay CASE`, as typed in a shell, for these cases to be played as here.
  std::string replay_options = {};
};

/// Plays and judges; returns each test's result by name. The judge prints its verdicts on stdout. Throws
/// std::runtime_error when the judge ends without a report.
std::map<std::string, TestResult> grade(const Checkout& checkout, const GradingOrder& order);

/// The results in a judge's --report file. Throws std::runtime_error.
std::map<std::string, TestResult> judged_results(const std::string& report);

}  // namespace course::program
