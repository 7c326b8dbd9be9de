#include "course/workspace/checkout.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "protocol/errors.hpp"
#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

Checkout Checkout::find() {
  const char* named = std::getenv("COURSE_ROOT");
  const fs::path root = fs::absolute(named != nullptr && *named != '\0' ? named : COURSE_SOURCE_DIR);
  const fs::path registry = root / "lessons" / "registry.json";
  if (!fs::exists(registry)) {
    throw Unavailable("there is no course in " + root.string() + ": it has no lessons/registry.json");
  }
  const char* tree = std::getenv("COURSE_BUILD");
  return {root, read_registry(registry), tree != nullptr ? tree : ""};
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

std::set<std::string> Checkout::student_files() const {
  std::set<std::string> files;
  for (const LessonInfo& lesson : lessons) {
    for (const std::string& file : lesson.files) files.insert(student_file(lesson, file));
  }
  return files;
}

std::vector<std::string> Checkout::files_with_skeleton(const LessonInfo& lesson) const {
  std::vector<std::string> files = lesson.files;
  const std::string python = lesson.name + ".py";
  if (fs::exists(root / solution_file(lesson, python))) files.push_back(python);
  return files;
}

fs::path Checkout::kept_skeleton(const LessonInfo& lesson, const std::string& file) {
  return fs::path("skeletons") / lesson.folder() / file;
}

bool Checkout::is_handout() const {
  return fs::exists(root / handout_file);
}

bool Checkout::has_solution(const LessonInfo& lesson) const {
  return std::ranges::all_of(
      lesson.files, [&](const std::string& file) { return fs::exists(root / solution_file(lesson, file)); });
}

void Checkout::require_solution(const LessonInfo& lesson) const {
  if (has_solution(lesson)) return;
  throw Unavailable("the solution of lesson " + lesson.id + " is not given out yet: there is no " +
                    (fs::path("solutions") / lesson.folder()).string());
}

std::optional<std::string> Checkout::skeleton(const LessonInfo& lesson, const std::string& file) const {
  const fs::path kept = root / kept_skeleton(lesson, file);
  if (fs::exists(kept)) return read_text(kept);
  const fs::path solution = root / solution_file(lesson, file);
  if (!fs::exists(solution)) return std::nullopt;
  return skeleton_of(read_text(solution));
}

std::string Checkout::obstacle(const LessonInfo& lesson) const {
  if (!fs::exists(root / "tests" / lesson.folder() / "judge.cpp")) return "this checkout has no judge for it";
  if (lesson.needs_mpi() && find_program("mpirun").empty()) return "there is no mpirun on this machine";
  return "";
}

std::string Checkout::build_obstacle(const LessonInfo& lesson) const {
  const std::string why = obstacle(lesson);
  if (!why.empty() || !lesson.needs_gpu()) return why;
  const bool lacks =
      read_text(build() / "CMakeCache.txt").find("\nCOURSE_SIMULATOR:INTERNAL=OFF\n") != std::string::npos;
  return lacks ? "the simulated GPU needs Boost.Context and libdw, which were not found (group gpu of "
                 "common/packages.tsv)"
               : "";
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
