#pragma once

#include <string>

#include "course/workspace/checkout.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"

namespace course::program {

/// The course as it lies here, tracked and new files, without builds, in a folder that goes away.
struct CopiedCourse {
  CopiedCourse() {
    namespace fs = std::filesystem;
    const fs::path root = COURSE_SOURCE_DIR;
    const Captured listed = capture({.argv = {"git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z",
                                              "--cached", "--others", "--exclude-standard"}});
    if (listed.exit.code != 0) {
      obstacle = "there is no git, or no history: " + listed.first_line();
      return;
    }
    for (std::size_t at = 0, end; (end = listed.output.find('\0', at)) != std::string::npos; at = end + 1) {
      const fs::path file = listed.output.substr(at, end - at);
      if (!fs::exists(root / file)) continue;
      fs::create_directories((course.root / file).parent_path());
      fs::copy(root / file, course.root / file, fs::copy_options::copy_symlinks);
    }
    course.lessons = read_registry(course.root / "lessons" / "registry.json");
  }

  const TemporaryFolder folder;
  Checkout course{folder.path(), {}};
  std::string obstacle;  ///< why there is no copy
};

}  // namespace course::program
