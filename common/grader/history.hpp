#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "grader/submission.hpp"

namespace course::program::grader {

/// The commit of a submission's history that changed a lesson's files last.
struct LastCommit {
  std::string id;            ///< abbreviated
  std::string date;          ///< when it was made, by the clock of whoever made it: 2026-10-05T22:41:07+02:00
  std::int64_t seconds = 0;  ///< the same, since 1970
  bool changed_since = false;  ///< what was handed in is not what HEAD has
  /// The clone is shallow and its history begins here: an older commit may have changed the files.
  bool cut_off = false;
};

/// Looks it up where the folder is a git repository whose HEAD has the files that were taken; nullopt else,
/// and where there is no git. Nothing of the repository but its objects and references is read: its
/// configuration and hooks could run commands.
std::optional<LastCommit> last_commit(const std::filesystem::path& folder, const HandedIn& handed_in);

}  // namespace course::program::grader
