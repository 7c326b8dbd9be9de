#pragma once

#include <string>
#include <vector>

#include "course/workspace/saved_results.hpp"

namespace course::program {

/// A lesson's files as they stand.
struct LessonFiles {
  std::vector<std::filesystem::path> missing;  ///< from the root
  bool untouched = false;                      ///< the skeleton, up to blanks and comments
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
  int points() const { return status == Status::Passed ? task->points : 0; }
};

/// Where a student stands with a lesson, its files being as they are.
struct LessonStatus {
  const LessonInfo* lesson;
  Status status;
  bool stale = false;    ///< the files have changed since the last check
  std::string obstacle;  ///< what keeps every test from being played: a file is missing or does not compile
  std::vector<TaskStatus> tasks;
  int points() const;
  int passed_tasks() const;
  int todo_tasks() const;  ///< those that were not attempted
  /// The first task that is not passed; nullptr when all are.
  const TaskStatus* open_task() const;
};

/// Every task alike, for one reason.
LessonStatus lesson_status_as_a_whole(const LessonInfo& lesson, Status status, const std::string& why);

/// @param record what the last check found; nullptr when there was none
/// @param obstacle why the lesson cannot be graded here, or empty
LessonStatus lesson_status_of(const LessonInfo& lesson, const LessonFiles& files, const LessonRecord* record,
                              const std::string& obstacle);

/// The same for a lesson of this checkout as it lies on disk.
LessonStatus lesson_status_of(const Checkout& checkout, const LessonInfo& lesson, const Progress& progress);

}  // namespace course::program
