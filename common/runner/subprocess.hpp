#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace course {

/// A command to start: argv[0] is looked up in PATH; `environment` is added to the caller's.
struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  std::filesystem::path output;  ///< stdout and stderr together go here
  std::set<pid_t> spared = {};   ///< other children of this process, which do not die with it
};

/// How a process ended.
struct Exit {
  int code = 0;    ///< exit status, or 128 + signal
  int signal = 0;  ///< 0 unless a signal ended it
};

/// Sends the signal once to every process that descends from this one, reaps them, and does so until none is
/// left, for a second at most. Returns whether none is. Children that are spared keep their descendants.
bool end_descendants(int signal, const std::set<pid_t>& spared = {});

/// A child in a process group of its own. Whatever it started dies with it, and whatever else descends from
/// this process, which becomes the subreaper of orphans (prctl PR_SET_CHILD_SUBREAPER), so that a killed
/// mpirun leaves no spinning rank behind.
class Process {
 public:
  /// Throws std::system_error when the command cannot be started.
  explicit Process(const Command& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The exit, if it has ended.
  std::optional<Exit> poll();
  pid_t pid() const { return pid_; }
  /// Ends it and every descendant, and reaps them.
  void kill();

 private:
  pid_t pid_;
  std::set<pid_t> spared_;
  std::optional<Exit> exit_;
};

}  // namespace course
