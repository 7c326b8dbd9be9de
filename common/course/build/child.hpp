#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace course::program {

/// A program to start and wait for. argv[0] is looked up in PATH.
struct ChildCommand {
  std::vector<std::string> argv;
  std::filesystem::path folder;                    ///< to start it in; empty: this program's
  std::map<std::string, std::string> environment;  ///< added to this program's
  double limit_s = 0;                              ///< then it is ended; 0: none
  bool quiet = false;                              ///< its stdout is thrown away (run only)
};

/// run and capture throw Interrupted while an Interruptible lives.
struct ChildExit {
  int code = 0;  ///< its exit status, 128 + the signal that ended it, or 127 when it could not be started
  bool timed_out = false;
};

/// Runs it on this program's own stdin, stdout and stderr.
ChildExit run(const ChildCommand& command);

/// Runs it with stdin from /dev/null and gives each line of its stdout and stderr, as it comes, without its
/// end.
ChildExit run(const ChildCommand& command, const std::function<void(const std::string&)>& on_line);

/// What it printed on stdout and stderr, and how it ended.
struct Captured {
  ChildExit exit;
  std::string output;
  std::string first_line() const { return output.substr(0, output.find('\n')); }
};
Captured capture(const ChildCommand& command);

}  // namespace course::program
