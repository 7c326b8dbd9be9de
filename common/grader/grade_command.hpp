#pragma once

#include "course/workspace/judging.hpp"
#include "grader/report.hpp"
#include "grader/workshop.hpp"

namespace course::program::grader {

struct GradeOptions {
  std::vector<std::string> lessons;  ///< "05", "03-05"; empty: all
  std::optional<std::filesystem::path> submission;
  std::optional<std::filesystem::path> submissions;
  std::optional<std::string> format;  ///< of one submission's report; "text" without it
  bool as_json = false;               ///< --json was given, which is a format, too
  std::optional<std::filesystem::path> output;
  std::optional<std::filesystem::path> points;  ///< a JSON file that overrides the registry's
  std::string points_text = {};                 ///< what that file has, which may be a pipe
  std::optional<std::uint64_t> seed;
  std::vector<std::pair<std::string, std::uint64_t>> lesson_seeds;  ///< by lesson id, before `seed`
  std::optional<std::string> isolation;
  std::optional<std::filesystem::path> roster;  ///< CSV: the ids of students
  std::optional<std::string> due;               ///< as deadline_from takes it
  int jobs = 0;                                 ///< 0: as many as suit this machine
  bool prepared = false;                        ///< the judges are built
};

/// The command ./course grade. Returns an exit code: 0 when the report is complete, whatever the score.
/// Throws UsageError and Unavailable.
int grade(Checkout checkout, GradeOptions options);

/// In a results' folder: the seeds, the deadlines and the roster.
inline constexpr const char* run_file = "run.json";
/// Beside it, once points were given.
inline constexpr const char* points_file = "points.json";

/// Where the results of options.submissions lie.
std::filesystem::path results_folder(const GradeOptions& options);

/// Grades every folder in options.submissions, each in a process of its own, several at once. The results lie
/// in options.output (by default FOLDER.grades beside it): run.json, reports/NAME.json, .html and .md for
/// each submission, and grades.csv. Called again with the same results folder it keeps each lesson's seed,
/// grades only what is new or has changed of these lessons, which is also how an interrupted run goes on, and
/// leaves what is there of other lessons. Returns an exit code. Throws UsageError.
/// @param checkout with all its lessons
int grade_all(const Checkout& checkout, const std::vector<LessonInfo>& lessons, const GradeOptions& options,
              const GradingManifest& manifest);

/// What one lesson is graded on in a run on these terms.
GradingManifest terms_of(const Checkout& checkout, const LessonInfo& lesson, const GradingManifest& manifest);

/// The tasks of a lesson and their points: "05.1=20 05.2=80".
std::string scope_of(const LessonInfo& lesson);

/// How the judge is to play what a workshop has made: confined, with hidden tests.
GradingOrder grading_order(const Checkout& checkout, const LessonInfo& lesson, const Workshop& workshop,
                           const GradingManifest& manifest);

/// Grades one lesson of a submission. Whatever the submission does, there is a lesson_status with a status
/// and, short of a pass, a diagnosis for each task. Throws std::runtime_error when the grader itself cannot
/// work.
LessonGrade grade_lesson(const Checkout& checkout, const LessonInfo& lesson,
                         const std::filesystem::path& submission, const GradingManifest& manifest);

/// Sets points of tasks as a JSON file says: {"05": {"1": 20, "2": 80}}. What it does not name stays. Throws
/// UsageError naming the lesson, the task or the value that is wrong. Returns what the file has.
std::string override_points(std::vector<LessonInfo>& lessons, const std::filesystem::path& file);

}  // namespace course::program::grader
