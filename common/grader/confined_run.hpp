#pragma once

#include "runner/confinement.hpp"
#include "runner/subprocess.hpp"

namespace course::grader {

/// How a confined command ended.
struct ConfinedRun {
  Exit exit;
  std::string exceeded;  ///< the limit that ended it; empty when none did
  std::string output;    ///< what it printed, cut after 256 KiB
  bool succeeded() const { return exceeded.empty() && exit.code == 0; }
};

/// Runs a command to its end or to its limits. What it prints goes through `output`, a path of the caller's
/// that the command cannot change.
ConfinedRun run_confined(const Confinement& confinement, const std::vector<std::string>& command,
                         const Room& room, const std::filesystem::path& output);

/// Whether code that is confined so, shown nothing but the system's folders, can read a path.
bool readable_confined(const Confinement& confinement, const std::filesystem::path& path);

}  // namespace course::grader
