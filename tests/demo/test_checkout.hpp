#pragma once

#include <map>
#include <string>

#include "running.hpp"

namespace course {

/// The course as a program finds it through COURSE_ROOT: registry, solutions and tests of this one, nothing
/// of a student's, and a build tree with everything built, in which a test may put something else in place of
/// a lesson.
class TestCheckout {
 public:
  explicit TestCheckout(const std::filesystem::path& root) : root_(root) {
    namespace fs = std::filesystem;
    const fs::path source = COURSE_SOURCE_DIR, built = COURSE_BINARY_DIR;
    fs::create_directories(root_ / "solutions");
    fs::create_directories(root_ / "build/lib");
    for (const char* name : {"lessons", "tests", "common"}) fs::create_symlink(source / name, root_ / name);
    for (const auto& lesson : fs::directory_iterator(source / "solutions"))
      fs::create_symlink(lesson.path(), root_ / "solutions" / lesson.path().filename());
    fs::create_symlink(built / "bin", root_ / "build/bin");
    std::ofstream rules(root_ / "build/build.ninja");
    for (const auto& program : fs::directory_iterator(built / "bin"))
      rules << "build " << program.path().filename().string() << ": phony\n";
    for (const auto& library : fs::directory_iterator(built / "lib")) {
      if (library.path().extension() != ".so") continue;
      rules << "build " << library.path().stem().string() << ": phony\n";
      fs::create_symlink(library.path(), root_ / "build/lib" / library.path().filename());
    }
    std::ofstream(root_ / "build/CMakeCache.txt") << "CMAKE_GENERATOR:INTERNAL=Ninja\nCMAKE_PROJECT_NAME:"
                                                     "STATIC=course\nCMAKE_MAKE_PROGRAM:FILEPATH=ninja\n";
  }

  /// Has a lesson's shared object replaced by another one of the build: "lesson05_solution", "ring_crashes".
  void replace(const std::string& name, const std::string& by) const {
    const std::filesystem::path place = root_ / "build/lib" / (name + ".so");
    std::filesystem::remove(place);
    std::filesystem::create_symlink(std::filesystem::path(COURSE_BINARY_DIR) / "lib" / (by + ".so"), place);
  }

  /// As a line of shell begins.
  std::string environment() const { return "COURSE_ROOT='" + root_.string() + "' "; }

 private:
  std::filesystem::path root_;
};

}  // namespace course
