#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>

#include "course/workspace/lesson_status.hpp"
#include "grader/beside.hpp"
#include "grader/history.hpp"
#include "runner/confinement.hpp"

namespace course::program::grader {

/// What a lesson, or all lessons of one run, are graded on: the instructor's report says it, and a student's
/// does not.
struct GradingManifest {
  std::uint64_t seed = 0;  ///< that inputs are drawn with, public and hidden
  Isolation isolation = Isolation::None;
  std::string commit;    ///< of the course that graded, "-dirty" appended when its files differ from it
  std::string judges;    ///< tells what decides verdicts, as it is built, from any other state of it
  std::string compiler;  ///< its version line
  std::string scope;     ///< the tasks and their points: "01.1=40 01.2=60"

  std::map<std::string, std::uint64_t> seeds = {};  ///< by lesson id, of lessons with a seed of their own

  std::uint64_t seed_of(const LessonInfo& lesson) const;
  /// Whether a grade on the other terms would be the same: a commit may have changed texts alone.
  bool decides_as(const GradingManifest& other) const;
};

nlohmann::ordered_json to_json(const GradingManifest& manifest);
/// Throws nlohmann::json::exception or std::invalid_argument.
GradingManifest manifest_from(const nlohmann::ordered_json& json);

/// What one lesson of a submission is worth.
struct LessonGrade {
  LessonStatus lesson_status;
  TestResults tests = {};                 ///< hidden ones too; empty when nothing was played
  double seconds = 0;                     ///< that grading took
  bool failed = false;                    ///< the grader, not the submission: skipped
  GradingManifest terms = {};             ///< of this lesson alone
  std::string files_hash = {};            ///< of its files as they were graded
  std::optional<LastCommit> commit = {};  ///< of its files, where the submission has a git history
};

/// The grades of one submission.
struct Report {
  std::string submission;  ///< its folder's name
  GradingManifest manifest;
  std::vector<LessonGrade> lessons;
  double seconds = 0;  ///< that grading took
  Edits edits = {};    ///< beside the answers

  std::string files_hash() const;  ///< of all that was handed in

  bool is_complete() const;  ///< the grader failed at no lesson
  int points() const;
  int max_points() const;          ///< of what could be graded
  int skipped_max_points() const;  ///< of lessons that this machine cannot grade
};

/// Null for none.
nlohmann::ordered_json commit_json(const std::optional<LastCommit>& commit);

/// For an instructor's terminal.
std::string text_report(const Report& report);

/// One object: lessons[] as everywhere in the course, and what was graded how.
std::string json_report(const Report& report);

/// What a JSON report says of files beside the answers; nothing where an older version of the course wrote
/// it.
Edits edits_of(const nlohmann::ordered_json& report);

/// A JSON report with the lessons of another in place of its own and beside them, in the order of their ids.
nlohmann::ordered_json merged(const nlohmann::ordered_json& report, const nlohmann::ordered_json& newer);

/// A JSON report's entry for a lesson; null where it has none.
const nlohmann::ordered_json* lesson_in(const nlohmann::ordered_json& report, const std::string& id);

/// Whether such an entry is a grade: not where the lesson was skipped.
bool is_graded(const nlohmann::ordered_json& lesson);

/// Of an entry that is no grade, in one line.
std::string why_not_graded(const nlohmann::ordered_json& lesson);

/// In a grade that is kept: why a later run could not grade the same files.
inline constexpr const char* kept_because = "kept_because";

/// As `merged`, but a grade stays where the other report has none for the same files. One of other files
/// goes, and what stands in its place is not complete.
nlohmann::ordered_json merged_over_grades(const nlohmann::ordered_json& report, nlohmann::ordered_json newer);

/// For continuous integration and for instructors, as Surefire writes and Jenkins reads it: a suite a lesson,
/// a testcase a task. What is still to do is a failure of type "todo". Only suites have a time, since a
/// lesson's tasks are played together. Source: the schema junit-10.xsd of Jenkins' xUnit plugin,
/// https://github.com/jenkinsci/xunit-plugin
std::string junit_report(const Report& report);

/// Gradescope's results.json. A test a task with its points; and one without points for each hidden test,
/// that students see once grades are published: as long as a test is hidden they do not see their total, and
/// "hidden" would be for ever. The manifest is in extra_data alone.
/// Source: https://gradescope-autograders.readthedocs.io/en/latest/specs/
std::string gradescope_report(const Report& report);

// ---- what several of them show ----

/// As much of a text as a report shows, in bytes.
inline constexpr std::size_t longest_text = 10'000;

/// A text that any format can carry (clean_utf8); when it is longer than longest_text its beginning and a
/// word on that.
std::string presentable(const std::string& text);

/// One test of a task, public or hidden.
struct TaskTest {
  std::string name;  ///< "2.ranks3.hidden"
  int ranks = 0;     ///< 0: the task is played on one rank only
  bool hidden = false;
  Status status = Status::Failed;
};

/// The tests of a task that were played, public ones first, each kind in the order of its world sizes.
std::vector<TaskTest> tests_of(const LessonGrade& grade, const TaskInfo& task);

/// "05.2 ring attention"
std::string title_of(const LessonInfo& lesson, const TaskInfo& task);

/// Why a task is not passed, presentable, with the world sizes that it fails on; empty on a pass. What the
/// judge said of a hidden test is not in it, since code that is played can put what it was given into that,
/// as a tag of MPI_Send's for instance: a mistake that was recognised is told in the words of mistakes.md.
std::string diagnosis_of(const LessonGrade& grade, const TaskStatus& task);

}  // namespace course::program::grader
