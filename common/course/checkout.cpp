#include "course/checkout.hpp"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "course/errors.hpp"
#include "course/text_file.hpp"
#include "skeleton/skeleton.hpp"

namespace course::program {

namespace fs = std::filesystem;

Checkout Checkout::find() {
  const char* named = std::getenv("COURSE_ROOT");
  const fs::path root = fs::absolute(named != nullptr && *named != '\0' ? named : COURSE_SOURCE_DIR);
  const fs::path registry = root / "lessons" / "registry.json";
  if (!fs::exists(registry)) {
    throw Unavailable("there is no course in " + root.string() + ": it has no lessons/registry.json");
  }
  return {root, read_registry(registry)};
}

fs::path Checkout::lesson_folder(const LessonInfo& lesson) {
  return fs::path("lessons") / lesson.folder();
}

fs::path Checkout::student_file(const LessonInfo& lesson, const std::string& file) {
  return lesson_folder(lesson) / file;
}

fs::path Checkout::solution_file(const LessonInfo& lesson, const std::string& file) {
  return fs::path("solutions") / lesson.folder() / file;
}

std::optional<std::string> Checkout::skeleton(const LessonInfo& lesson, const std::string& file) const {
  const fs::path solution = root / solution_file(lesson, file);
  if (!fs::exists(solution)) return std::nullopt;
  return skeleton_of(read_text(solution));
}

std::string Checkout::obstacle(const LessonInfo& lesson) const {
  if (!fs::exists(root / "tests" / lesson.folder() / "judge.cpp")) return "this checkout has no judge for it";
  if (lesson.needs_mpi() && find_program("mpirun").empty()) return "there is no mpirun on this machine";
  return "";
}

fs::path find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (fs::is_regular_file(candidate) && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

}  // namespace course::program
