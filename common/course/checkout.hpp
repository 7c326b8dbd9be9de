#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "registry/registry.hpp"

namespace course::program {

/// The folder that the course lies in, and what lies where in it. Paths of a lesson are relative to `root`.
struct Checkout {
  std::filesystem::path root;
  std::vector<LessonInfo> lessons;

  /// The checkout that COURSE_ROOT names, or the one that this program was compiled in. Throws Unavailable
  /// when there is no registry in it.
  static Checkout find();

  std::filesystem::path build() const { return root / "build"; }
  std::filesystem::path state() const { return root / ".course"; }  ///< the student's progress

  static std::filesystem::path lesson_folder(const LessonInfo& lesson);
  static std::filesystem::path student_file(const LessonInfo& lesson, const std::string& file);
  static std::filesystem::path solution_file(const LessonInfo& lesson, const std::string& file);

  /// The skeleton of a file, cut from its solution; nullopt in a checkout without solutions.
  std::optional<std::string> skeleton(const LessonInfo& lesson, const std::string& file) const;

  /// Why the lesson cannot be graded here, or an empty string.
  std::string obstacle(const LessonInfo& lesson) const;
};

/// The path of a program that PATH leads to, or an empty path.
std::filesystem::path find_program(const std::string& name);

}  // namespace course::program
