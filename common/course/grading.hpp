#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "course/checkout.hpp"
#include "course/progress.hpp"

namespace course::program {

/// Which of a lesson's tests to play.
struct TestSelection {
  std::string task;          ///< empty: every task
  std::optional<int> ranks;  ///< nullopt: every world size
};

/// The names of the tests chosen. Throws UsageError when the lesson has no such task or world size.
std::vector<std::string> selected_tests(const LessonInfo& lesson, const TestSelection& selection);

/// How to start a judge.
struct GradingOrder {
  const LessonInfo* lesson;
  std::vector<std::string> tests;   ///< by name
  std::filesystem::path tree;       ///< the build that judge and player come from
  std::filesystem::path subject;    ///< what is judged, from the root
  std::vector<std::string> player;  ///< the player's command
  std::optional<std::uint64_t> seed;
  bool quiet = false;  ///< the judge's own words are not shown
};

/// Plays and judges; returns each test's result by name. The judge prints its verdicts on stdout. Throws
/// std::runtime_error when the judge ends without a report.
std::map<std::string, TestResult> grade(const Checkout& checkout, const GradingOrder& order);

/// The results in a judge's --report file. Throws std::runtime_error.
std::map<std::string, TestResult> parse_judge_report(const std::string& text);

}  // namespace course::program
