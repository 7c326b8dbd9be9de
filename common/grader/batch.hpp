#pragma once

#include "grader/grade_command.hpp"
#include "grader/grading_manifest.hpp"

namespace course::grader {

/// Grades every folder in options.submissions, each in a process of its own, several at once. The results lie
/// in options.output (by default FOLDER.grades beside it): run.json, reports/NAME.json for each submission,
/// and grades.csv. Called again with the same results folder it keeps the seed and grades only what is new or
/// has changed: that is also how an interrupted run goes on. Returns an exit code. Throws UsageError.
int grade_all(const program::Checkout& checkout, const GradeOptions& options, GradingManifest manifest);

}  // namespace course::grader
