#pragma once

#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::program {

/// A file to drill with.
struct DrillFile {
  std::string file;  ///< its name in the lesson
  std::string text;
};

/// The lesson's files with the task's body empty. Cut from the solution: the tasks before it are as solved,
/// with what they need; those after it are empty too, since they may build on what is to be written. In a
/// checkout without solutions, the student's own files with that one body emptied. Throws Unavailable when
/// there is neither a solution nor, with `passed` false, an answer of the student's that passes.
std::vector<DrillFile> drill_files(const Checkout& checkout, const LessonInfo& lesson,
                                   const std::string& task, bool passed);

/// Writes them to their folder. What was there and is not the same is kept; returns where, from the root, or
/// an empty path.
std::filesystem::path write_drill(const Checkout& checkout, const LessonInfo& lesson,
                                  const std::vector<DrillFile>& files);

/// Where a lesson's drill lies, from the root.
std::filesystem::path drill_folder(const LessonInfo& lesson);

}  // namespace course::program
