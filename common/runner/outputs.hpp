#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>

#include "runner/launcher.hpp"

namespace course {

/// A case's folder after its player has ended. Everything below `root` may have been made by submitted code:
/// it is opened without following links, and only regular files of `owner` with one name count.
struct PlayedFolder {
  std::filesystem::path root;  ///< a folder whose own place nobody but the judge could change
  std::filesystem::path name;  ///< the case's folder in it
  uid_t owner;
};

/// Whether a rank has written a report, whole or not.
bool has_report(const PlayedFolder& folder, int rank);

/// Throws std::runtime_error naming the file and what is wrong with it.
RankReport read_report(const PlayedFolder& folder, int rank);

/// The ranks' reports, those outputs that are asked for and, of a timed case, the ranks' times. Throws
/// std::runtime_error naming the file and what is wrong with it.
Outcome read_outcome(const PlayedFolder& folder, int ranks, const std::map<std::string, WantedOutput>& wanted,
                     bool timed = false);

}  // namespace course
