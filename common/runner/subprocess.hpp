#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
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

/// Runs it to its end, on this program's own stdin, stdout and stderr. This, the next one and capture() throw
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

// ---- processes of this machine ----

/// Its children, their children, and so on.
std::vector<pid_t> descendants(pid_t ancestor);

/// Sends the signal once to every process that left() names, until it names none, for a second at most.
/// Returns whether none is left.
bool end_all(int signal, const std::function<std::vector<pid_t>()>& left);

/// The same with those that descend from this process, which reaps them. Children that are spared keep their
/// descendants.
bool end_descendants(int signal, const std::set<pid_t>& spared = {});

/// The memory that a process holds at this moment, shared memory included; 0 once it has gone.
std::int64_t resident_bytes(pid_t pid);

/// How long a process's main thread has stood ready to run without a core since it began; 0 where the system
/// does not tell or the process has gone. Source: proc(5), schedstat.
double queued_s(pid_t pid);

/// The pid that a process has for itself, in the innermost of its namespaces; `pid` where that is not told.
pid_t own_pid(pid_t pid);

/// All processes of a user.
std::vector<pid_t> processes_of(uid_t user);

// ---- Ctrl-C ----

/// Ctrl-C, or a request to end. Not a std::exception, so that nobody who reports errors takes it for one.
struct Interrupted {
  int exit_code;  ///< 128 + the signal: 130 for Ctrl-C
};

/// While one lives, SIGINT, SIGTERM and SIGHUP do not end this program at once: the wait that they find it in
/// (for a child, a lock, the next look at a file) ends every process that descends from it and throws
/// Interrupted.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  static bool asked();
};

/// Where an interruption was asked for: ends all descendants of this process and throws Interrupted.
void stop_if_interrupted();

/// Waits; throws Interrupted as above.
void pause_for(std::chrono::milliseconds time);

}  // namespace course
