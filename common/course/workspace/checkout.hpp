#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "registry/registry.hpp"

namespace course::program {

/// In the root of a handout: which update of it this is.
inline constexpr const char* handout_file = "handout.json";

/// The folder that the course lies in, and what lies where in it. Paths of a lesson are relative to `root`.
struct Checkout {
  std::filesystem::path root;
  std::vector<LessonInfo> lessons;
  std::filesystem::path tree = {};  ///< the build tree, where it is not build/

  /// The checkout that COURSE_ROOT names, or the one that this program was compiled in, with the build tree
  /// that COURSE_BUILD names, if any. Throws Unavailable when there is no registry in it.
  static Checkout find();

  std::filesystem::path build() const { return tree.empty() ? root / "build" : tree; }
  std::filesystem::path state() const { return root / ".course"; }  ///< the student's progress

  static std::filesystem::path lesson_folder(const LessonInfo& lesson);
  static std::filesystem::path student_file(const LessonInfo& lesson, const std::string& file);
  static std::filesystem::path solution_file(const LessonInfo& lesson, const std::string& file);
  /// Where a handout keeps the skeleton that it came with.
  static std::filesystem::path kept_skeleton(const LessonInfo& lesson, const std::string& file);

  /// What students edit, of all lessons.
  std::set<std::string> student_files() const;

  /// The files of a lesson that have a skeleton: its own, and NAME.py where it has a solution in Python.
  std::vector<std::string> files_with_skeleton(const LessonInfo& lesson) const;

  /// Whether this is a copy for students, which `./course handout` made.
  bool is_handout() const;

  /// Whether the lesson's solution is here: in a handout, once it is released.
  bool has_solution(const LessonInfo& lesson) const;
  /// Throws Unavailable when it is not.
  void require_solution(const LessonInfo& lesson) const;

  /// The skeleton of a file, as a handout keeps it or else cut from its solution; nullopt where neither is.
  std::optional<std::string> skeleton(const LessonInfo& lesson, const std::string& file) const;

  /// Why the lesson cannot be graded here, or an empty string.
  std::string obstacle(const LessonInfo& lesson) const;
  /// The same, or why the build as it is configured has no simulated GPU for the lesson. A later call of
  /// ./course may install what that needs.
  std::string build_obstacle(const LessonInfo& lesson) const;
};

/// The path of a program that PATH leads to, or an empty path.
std::filesystem::path find_program(const std::string& name);

}  // namespace course::program
