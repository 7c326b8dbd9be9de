#pragma once

#include "course/build/build_output.hpp"

namespace course::program {

struct BuildResult {
  bool succeeded = false;
  std::vector<BuildStep> steps;  ///< those that printed something or failed
  std::string hash = {};         ///< of build_as_saved: content_hash of the files that were compiled
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

/// Throws std::runtime_error with what a build printed that failed: "WHAT could not be built: ...".
void require_built(const BuildResult& built, const std::string& what);

/// Builds a shared object from `sources` as they are when this returns. The build tool goes by the times of
/// files alone, and would take for up to date what was saved while it compiled, or an older file that was put
/// in place. Those are recognised by their content; the source's time of writing is then set to now.
BuildResult build_as_saved(const BuildOrder& order, const std::vector<std::filesystem::path>& sources,
                           const std::filesystem::path& library);

/// Configures `tree` with these arguments to cmake unless that was done before with the same -DCOURSE_...
/// Throws std::runtime_error with what cmake said.
void configure(const std::filesystem::path& root, const std::filesystem::path& tree,
               const std::vector<std::string>& arguments);

/// What a failed build printed, for when the course itself does not compile.
std::string failure_text(const BuildResult& result);

}  // namespace course::program
