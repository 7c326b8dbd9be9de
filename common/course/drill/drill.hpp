#pragma once

#include "course/workspace/checkout.hpp"

namespace course::program {

/// A file to drill with.
struct DrillFile {
  std::string file;  ///< its name in the lesson
  std::string text;  ///< what is shown: the task's functions with empty bodies
  /// The lesson's other functions, solved, which are compiled beside it and not shown: they are drills, too.
  std::string neighbours;
};

/// The lesson's files with the bodies of the task's functions empty and without the other tasks' functions.
/// Cut from the solution; in a checkout without solutions, from the student's own files, of which helpers
/// stay. Throws Unavailable when there is neither a solution nor, with `passed` false, an answer of the
/// student's that passes.
std::vector<DrillFile> drill_files(const Checkout& checkout, const LessonInfo& lesson,
                                   const std::string& task, bool passed);

/// The task ("05.2") that ./course drill begins with this argument: of lessons that are passed any, else the
/// easiest that has not been drilled to the end, and where all have, any.
std::string drill_to_begin(const Checkout& checkout, const std::string& argument);

/// Writes them to their folder. What was there and is not the same is kept; returns where, from the root, or
/// an empty path.
std::filesystem::path write_drill(const Checkout& checkout, const LessonInfo& lesson,
                                  const std::vector<DrillFile>& files);

/// Where a lesson's drill lies, from the root.
std::filesystem::path drill_folder(const LessonInfo& lesson);

/// One drill that has ended.
struct DrillRecord {
  std::string lesson;  ///< "05"
  std::string task;    ///< "2"
  std::string date;    ///< when it ended, local time: "2025-01-31 23:59:59"
  double seconds = 0;  ///< from the start to the save that passed, or to giving up
  int checks = 0;
  bool passed = false;  ///< else given up
};

/// .course/drill.json, oldest first. A file that cannot be read is put aside with a word on stderr.
std::vector<DrillRecord> read_drills(const Checkout& checkout);

/// Adds one to the file; simultaneous calls take turns.
void remember_drill(const Checkout& checkout, const DrillRecord& record);

/// Those of one lesson (an id), or of one of its tasks; empty means any.
std::vector<DrillRecord> drills_of(std::vector<DrillRecord> all, const std::string& lesson,
                                   const std::string& task);

/// One row a task: how often it was drilled and passed, the best and the last time.
std::string drill_table(const std::vector<DrillRecord>& drills, const std::vector<LessonInfo>& lessons);

/// One line a drill of one task, and its best time.
std::string drill_list(const std::vector<DrillRecord>& drills);

}  // namespace course::program
