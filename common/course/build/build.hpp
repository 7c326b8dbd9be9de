#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/build/ninja_output.hpp"

namespace course::program {

struct BuildResult {
  bool succeeded = false;
  std::vector<BuildStep> steps;  ///< those that printed something or failed
};

/// What to build, and how to call it on screen.
struct BuildOrder {
  std::filesystem::path root;
  std::filesystem::path tree;  ///< where it was configured
  std::vector<std::string> targets;
  std::string title;  ///< "the judge of lesson 05"
  int jobs = 0;       ///< 0: as many as the build tool likes
};

/// Builds with progress on stderr, one ./course at a time.
BuildResult build(const BuildOrder& order);

/// Configures `tree` with these arguments to cmake unless that was done before. Throws std::runtime_error
/// with what cmake said.
void configure(const std::filesystem::path& root, const std::filesystem::path& tree,
               const std::vector<std::string>& arguments);

/// What a failed build printed, for when the course itself does not compile.
std::string failure_text(const BuildResult& result);

}  // namespace course::program
