#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/build/build.hpp"

namespace course::program {

/// A build of files that somebody edits meanwhile.
struct SavedBuild {
  BuildResult result;
  std::string hash;  ///< content_hash of the files that were compiled
};

/// Builds a shared object from `sources` as they are when this returns. The build tool goes by the times of
/// files alone, and would take for up to date what was saved while it compiled, or an older file that was put
/// in place. Those are recognised by their content; the source's time of writing is then set to now.
SavedBuild build_as_saved(const BuildOrder& order, const std::vector<std::filesystem::path>& sources,
                          const std::filesystem::path& library);

}  // namespace course::program
