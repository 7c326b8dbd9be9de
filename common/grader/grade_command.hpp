#pragma once

#include "grader/report.hpp"

namespace course::grader {

struct GradeOptions {
  std::vector<std::string> lessons;  ///< "05", "03-05"; empty: all
  std::optional<std::filesystem::path> submission;
  std::optional<std::filesystem::path> submissions;
  std::string format = "text";
  std::optional<std::filesystem::path> output;
  std::optional<std::filesystem::path> points;  ///< a JSON file that overrides the registry's
  std::optional<std::uint64_t> seed;
  std::optional<std::string> isolation;
  int jobs = 0;           ///< 0: as many as suit this machine
  bool prepared = false;  ///< the judges are built
};

/// ./course grade. Returns an exit code: 0 when the report is complete, whatever the score. Throws UsageError
/// and Unavailable.
int grade(program::Checkout checkout, const GradeOptions& options);

/// Grades every folder in options.submissions, each in a process of its own, several at once. The results lie
/// in options.output (by default FOLDER.grades beside it): run.json, reports/NAME.json for each submission,
/// and grades.csv. Called again with the same results folder it keeps the seed and grades only what is new or
/// has changed: that is also how an interrupted run goes on. Returns an exit code. Throws UsageError.
int grade_all(const program::Checkout& checkout, const GradeOptions& options,
              const GradingManifest& manifest);

/// Sets points of tasks as a JSON file says: {"05": {"1": 20, "2": 80}}. What it does not name stays. Throws
/// UsageError naming the lesson, the task or the value that is wrong.
void override_points(std::vector<LessonInfo>& lessons, const std::filesystem::path& file);

}  // namespace course::grader
