#pragma once

#include <functional>
#include <map>

#include "course/workspace/checkout.hpp"

namespace course::program {

enum class Status { Passed, Failed, Todo, Skipped };

/// "passed", "failed", "todo", "skipped"
std::string to_string(Status status);
/// Throws std::runtime_error that says which there are.
Status status_named(const std::string& name);

/// What the judge said of one test.
struct TestResult {
  Status status = Status::Failed;
  std::string text;                          ///< the diagnosis; several lines
  std::vector<std::string> mistakes;         ///< ids of mistakes.md
  std::string ending = {};                   ///< as in JudgeReport::Test
  std::vector<std::string> in_part = {};     ///< as in JudgeReport::Test
  std::vector<std::string> of_outputs = {};  ///< as in JudgeReport::Test
  std::string fact = {};                     ///< as in JudgeReport::Test
  bool has_line = false;                     ///< as in JudgeReport::Test
};

/// The tests of a lesson by name ("2.ranks3").
using TestResults = std::map<std::string, TestResult>;

/// The tests of a lesson as they went with files of this content.
struct LessonRecord {
  std::string hash;
  std::string build_error;  ///< the first one; empty when the files compile
  TestResults tests;
};

/// What the course remembers of a student: .course/results.json.
struct Progress {
  std::map<std::string, LessonRecord> lessons;  ///< by lesson id, as the last check found them
  std::map<std::string, LessonRecord> passed;   ///< by lesson id, as they were when they passed last
  /// By lesson id: what a drill since the last check has failed by, at its last save.
  std::map<std::string, TestResults> drilled = {};
  std::map<std::string, int> hints;  ///< by lesson and task ("05.2"): how many were shown
  /// By lesson and task: the failure that ./course hint has explained last (failure_outline).
  std::map<std::string, std::string> guided;
  std::string current = {};  ///< the lesson that was checked last, by id
};

/// Reads what is remembered. A file that is corrupt or of another version is put aside under another name,
/// with a word on stderr, and nothing is remembered.
Progress read_progress(const Checkout& checkout);
/// Reads, changes and writes what is remembered; simultaneous calls take turns.
void update_progress(const Checkout& checkout, const std::function<void(Progress&)>& change);

/// A lesson's files as they stand.
struct LessonFiles {
  std::filesystem::path missing;  ///< the first that is, from the root
  bool untouched = false;         ///< the skeleton, up to blanks and comments
  std::string hash;
};

LessonFiles look_at_files(const Checkout& checkout, const LessonInfo& lesson);

struct TaskStatus {
  const TaskInfo* task;
  Status status;
  std::string diagnosis;              ///< empty on a pass
  std::vector<std::string> mistakes;  ///< ids that the tests gave
  bool unfinished = false;            ///< what was played passed, but not everything was
  bool unplayed = false;              ///< nothing was played
  std::string test = {};              ///< the name of the test that the diagnosis is about
  std::string ending = {};            ///< of that test, as in JudgeReport::Test
  std::string fact = {};              ///< of that test, as in JudgeReport::Test
  bool has_line = false;              ///< of that test, as in JudgeReport::Test
  /// Ids of which the diagnosis or `others` says that the answer looks like it, be it in part or in one
  /// output.
  std::vector<std::string> looks_like = {};
  /// Of the other tests that failed, the name and what was said of each that was not told in the same words.
  std::vector<std::pair<std::string, std::string>> others = {};
  int points() const { return status == Status::Passed ? task->points : 0; }
  /// Whether it was played and is wrong; not to be asked of a lesson that is stale or has an obstacle.
  bool is_wrong() const { return status == Status::Failed && !unfinished; }
};

/// Where a student stands with a lesson, its files being as they are.
struct LessonStatus {
  const LessonInfo* lesson;
  Status status;
  std::vector<TaskStatus> tasks = {};
  bool stale = false;  ///< the files have changed since the last check
  std::string obstacle =
      {};                ///< what keeps every test from being played: a file is missing or does not compile
  bool missing = false;  ///< a file is, in the checkout or in what was handed in

  int points() const;
  /// The first task that is not passed; nullptr when all are.
  const TaskStatus* open_task() const;
  /// The task to work on after a check: the first that is wrong; or else the last of which a part has passed;
  /// or else the first that is not passed behind the last that is, for who does one task after another checks
  /// them so, and each edit makes the verdicts of others a thing of the past. nullptr when all are passed.
  const TaskStatus* next_task() const;
};

/// Every task alike, for one reason.
LessonStatus lesson_status_as_a_whole(const LessonInfo& lesson, Status status, const std::string& why);

/// @param record what the last check found; nullptr when there was none
/// @param obstacle why the lesson cannot be graded here, or empty
LessonStatus lesson_status_of(const LessonInfo& lesson, const LessonFiles& files, const LessonRecord* record,
                              const std::string& obstacle);

/// The same from the tests alone, whatever files they were played with.
LessonStatus lesson_status_of(const LessonInfo& lesson, const TestResults& tests);

/// The same for a lesson of this checkout as it lies on disk.
LessonStatus lesson_status_of(const Checkout& checkout, const LessonInfo& lesson, const Progress& progress);
/// Every lesson of the checkout as it lies on disk.
std::vector<LessonStatus> all_lesson_statuses(const Checkout& checkout);

/// The one object of --json: lessons[] of id, name, status, points, max_points, files[], tasks[].
std::string report_json(const std::vector<LessonStatus>& lesson_statuses);

/// The lesson with this role. Throws Unavailable, for `command`, where this checkout does not hold it.
const LessonInfo& held_lesson(const Checkout& checkout, Role role, const std::string& command);

/// Whether a command, "demo" or "train", runs the student's own lessons: where `asked_for_mine`, and where
/// not all of these, without which it can show nothing, have solutions. Throws Unavailable where this
/// checkout does not hold one of them, and, in one line that names all, where the student's own are to be run
/// and some are not passed.
bool runs_own_lessons(const Checkout& checkout, const Progress& progress, const std::string& command,
                      const std::vector<Role>& needed, bool asked_for_mine);

/// Whose code to run where either will do: "student" where the student's own passes as it stands, else
/// "solution". Throws Unavailable, for `command`, where there is neither.
std::string runnable_subject(const Checkout& checkout, const LessonInfo& lesson, const Progress& progress,
                             const std::string& command);

}  // namespace course::program
