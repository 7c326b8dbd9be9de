#pragma once

#include <cstdint>

#include "course/workspace/cuda_device.hpp"
#include "course/workspace/lesson_status.hpp"
#include "course/workspace/lesson_texts.hpp"

// What a person can type: a function for each command, which returns the exit code. The tools that show and
// time rings have headers of their own; ./course grade is grader/grade_command.hpp.
namespace course::program {

/// Where the student is: every lesson by part, points, a progress bar and the next step; or the same as one
/// JSON object.
int show_status(const Checkout& checkout, bool json);

struct CheckOptions {
  std::string lesson;  ///< as choose_lesson understands it
  std::string task = {};
  std::optional<int> ranks = std::nullopt;
  std::optional<std::uint64_t> seed = std::nullopt;
  /// A command in place of the built-in player; then nothing of the student's is compiled.
  std::optional<std::string> player = std::nullopt;
  /// Where a lesson that needs a GPU is played; nothing is the simulator.
  std::optional<Backend> backend = std::nullopt;
  std::optional<Transport> transport = std::nullopt;  ///< between CUDA devices; nothing is NCCL
  bool sanitize = false;
  bool json = false;
  bool problems = false;  ///< a line for each task that is not passed, in the form of a compiler's, on stderr
};
/// Grades the student's files of one lesson and prints the verdict.
int check(const Checkout& checkout, const CheckOptions& options);

/// Checks a lesson at each save of its files until it passes, then goes on with the next that is not passed.
/// Starts with `lesson`, or where that is empty with what ./course says is next. Returns when every lesson is
/// passed; throws Interrupted at Ctrl-C.
int watch(const Checkout& checkout, const std::string& lesson, bool problems);

struct HintOptions {
  std::string lesson;  ///< "05", or with its task "05.2"
  std::string task;    ///< empty: the first that the last check failed, else the first that is not passed
  bool again = false;  ///< the last hint once more, not the next
};
/// Prints what to make of the task's failure at the last check, where it has not been printed of this failure
/// yet, else the task's next hint.
int hint(const Checkout& checkout, const HintOptions& options);

/// Prints the student's files beside the solution's, once they pass as they stand or with `spoil`.
int show(const Checkout& checkout, const std::string& lesson, bool spoil);

/// Puts the lesson's skeleton back in place of the student's files, which are kept under .course/backup.
int reset(const Checkout& checkout, const std::string& lesson);

struct DrillOptions {
  std::string task;      ///< "05.2"; "05": any of its tasks; empty: any task of a passed lesson
  bool history = false;  ///< only print what is remembered
};
/// One task from an empty body, against a clock: writes a fresh file, checks it at each save until it passes,
/// and remembers the time. The student's own files are never touched. Throws Interrupted at Ctrl-C, which is
/// remembered as given up.
int drill(const Checkout& checkout, const DrillOptions& options);

struct QuizOptions {
  std::string lesson = {};             ///< as choose_lesson understands it; empty: every lesson
  std::string within = {};             ///< as choose_lessons understands it: questions that need no other
  std::string topic = {};              ///< a page of docs/interview; empty: every page
  std::vector<int> difficulties = {};  ///< 1 to 3; none: any
  bool classics = false;               ///< the classics before all others
  std::optional<int> count = std::nullopt;  ///< ask so many at most
  bool history = false;                     ///< only print what is remembered
};
/// Asks the questions of docs/interview one after another until input ends, those again that were missed, and
/// remembers how each went. It reads lines from standard input, whatever that is.
int quiz(const Checkout& checkout, const QuizOptions& options);

struct ReplayOptions {
  std::string case_name;            ///< a name in .course/cases or the path of a case's folder
  std::optional<int> gdb_rank;      ///< this rank runs under gdb
  std::optional<int> gdb_port;      ///< there it waits for a debugger, in place of gdb at the keyboard
  std::string subject = "student";  ///< or "solution"
  /// A command in place of the built-in player; it is given the lesson's folder, and nothing is compiled.
  std::optional<std::string> player;
  /// Not under gdb: it is ended after so long without progress; nothing is as long as a check's.
  std::optional<double> limit_s = std::nullopt;
};
/// Has the judge play a kept case again on the student's code, or the solution's, with what it prints on
/// screen, and prints the verdict and the numbers around the worst entries; or starts it under gdb.
int replay(const Checkout& checkout, const ReplayOptions& options);

/// Prints what was found on this machine, what is skipped and why; `unavailable` when something that the
/// course needs is missing.
int doctor(const Checkout& checkout, bool json);

struct TestOptions {
  bool all = false;
  int soak = 0;         ///< with how many seeds, instead of the other tests; 0: not asked for
  std::string lesson;   ///< as choose_lesson understands it; empty: every lesson
  bool record = false;  ///< writes what comes of the lesson into tests/ledger, in place of comparing
  int jobs = 0;         ///< 0: as many as there are processors
};
/// The course's own tests: solutions and variants pass, skeletons and mutants fail as they should, the tools
/// work. Reads nothing that a student edits.
int test(const Checkout& checkout, const TestOptions& options);

struct HandoutOptions {
  std::string folder;
  /// As choose_lessons understands it; none: the earlier handout's, or all.
  std::optional<std::string> lessons;
};
/// Makes the students' copy of the course in a folder, or brings an earlier one up to date.
int handout(const Checkout& checkout, const HandoutOptions& options);

/// Gives out a lesson's solution: as an update of the handout in `folder`, or on stdout as a patch where
/// `folder` is empty.
int release(const Checkout& checkout, const std::string& lesson, const std::string& folder);

struct PackOptions {
  std::string folder;                  ///< a new one
  std::optional<std::string> lessons;  ///< as choose_lessons understands it; none: those that need a GPU
};
/// Packs judges, players and the student's and the course's answers for a machine that has a GPU, perhaps,
/// but not what the course is built with.
int pack(const Checkout& checkout, const PackOptions& options);

// ---- parts of them ----

/// The first lesson that is neither passed nor skipped, from the lesson `current` on (an id, may be empty)
/// and round; nullptr when there is none.
const LessonStatus* next_open(const std::vector<LessonStatus>& lesson_statuses, const std::string& current);

/// What to read, edit and type now, in the next open lesson: one line. A check and ./course both end with it.
/// `task` is one of `current`'s that was asked for.
std::string next_step(const std::vector<LessonStatus>& lesson_statuses, const std::string& current,
                      const std::string& task = "");

/// How it stands with the tasks that are not passed: "task 1 failed, tasks 2, 3 not checked".
std::string open_tasks(const LessonStatus& lesson_status);

/// The end of a check: how many tasks passed and the points, or, where only a part of the lesson was checked,
/// how it stands with each task; and the next step.
/// `task` is the one that was asked for; may be empty.
std::string verdict_text(const Checkout& checkout, const LessonStatus& lesson_status,
                         const std::string& task = "");

/// The same of a verdict that is not remembered; `how` it came about: "with your own player".
std::string apart_text(const LessonStatus& lesson_status, const std::string& how);

/// A task that is not passed as a compiler would say it: "FILE:LINE: error: lesson05.2: what is wrong; looks
/// like: ...".
std::string problem_line(const TaskPlace& place, const LessonInfo& lesson, const TaskStatus& task);

/// The text with lines longer than `width` characters cut, what is cut off on lines of its own, indented.
std::string folded(const std::string& text, std::size_t width);

/// All that the check, or a drill, said of a failed task, and the rows of the README on the mistakes that it
/// named; or, where it named none, what to do next. Whole lines.
std::string guidance(const Checkout& checkout, const LessonInfo& lesson, const TaskStatus& task,
                     bool in_drill = false);

/// Tells one failure of a task from another, whatever numbers it shows.
std::string failure_outline(const TaskStatus& task);

/// The lesson of a case, from its folder's name: "lesson05.2.ranks3". Throws UsageError.
const LessonInfo& lesson_of_case(const std::vector<LessonInfo>& lessons, std::string_view folder_name);

/// Those of the kept cases' names, sorted, that a short one means: "05.2", "5.2.ranks3", "ring_attention",
/// "lesson05".
std::vector<std::string> cases_named(const std::vector<LessonInfo>& lessons,
                                     const std::vector<std::string>& kept, const std::string& name);

/// What goes before a command to debug it: gdb, or gdbserver on a port.
std::vector<std::string> debugger(std::optional<int> port);

/// The command that starts `ranks` players under mpirun, world rank `gdb_rank` under this debugger.
std::vector<std::string> ranks_command(const std::vector<std::string>& player, int ranks, int gdb_rank,
                                       const std::vector<std::string>& debugger_words);

}  // namespace course::program
