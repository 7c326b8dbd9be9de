#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace course {

/// A program to start. argv[0] is looked up in PATH.
struct Command {
  std::vector<std::string> argv;
  std::filesystem::path folder = {};                    ///< to start it in; empty: this program's
  std::map<std::string, std::string> environment = {};  ///< added to this program's
  /// Its stdout and stderr are added to this file, and its stdin is empty. It has a process group of its own,
  /// so that Ctrl-C reaches this program alone. Without it they are this program's, and so is the group.
  std::filesystem::path output = {};
  bool quiet = false;           ///< without `output`: its stdout is thrown away
  double limit_s = 0;           ///< for run and capture: then it is ended; 0: none
  std::set<pid_t> spared = {};  ///< with `output`: other children of this process, which do not die with it
};

/// How a process ended.
struct Exit {
  int code = 0;    ///< its exit status, 128 + the signal that ended it, or 127 when it could not be started
  int signal = 0;  ///< 0 unless a signal ended it
  bool timed_out = false;
};

/// A child. Where it has an output file, whatever it started dies with it: this process becomes the subreaper
/// of orphans (prctl PR_SET_CHILD_SUBREAPER), so that a killed mpirun leaves no spinning rank behind.
class Process {
 public:
  /// Throws std::system_error when there is no process to be had.
  explicit Process(const Command& command) : Process(command, -1) {}
  /// With an open file for its stdout and stderr, and an empty stdin.
  Process(const Command& command, int printed);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The exit, if it has ended.
  std::optional<Exit> poll();
  pid_t pid() const { return pid_; }
  /// Ends it and every descendant of this process, and reaps them.
  void kill();

 private:
  bool apart_;
  pid_t pid_;
  std::set<pid_t> spared_;
  std::optional<Exit> exit_;
};

/// Runs it to its end, on this program's own stdin, stdout and stderr. This and what follows throw
/// Interrupted while an Interruptible lives.
Exit run(const Command& command);

/// Runs it with an empty stdin and gives each line of its stdout and stderr, as it comes, without its end.
Exit run(const Command& command, const std::function<void(const std::string&)>& on_line);

/// What it printed on stdout and stderr, and how it ended.
struct Captured {
  Exit exit;
  std::string output;
  std::string first_line() const { return output.substr(0, output.find('\n')); }
};
Captured capture(const Command& command);

}  // namespace course
