#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace course::bench {

/// Another process that does a piece of work a request: a line to its stdin, a number back from its stdout.
/// Between requests it waits without using a core. It ends when its stdin does.
class Worker {
 public:
  /// `name` is for messages. Throws std::system_error when there is no process to be had.
  Worker(std::string name, const std::vector<std::string>& argv);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  pid_t pid() const { return pid_; }

  void request(const std::string& line);

  /// The answer to the oldest request without one. Throws std::runtime_error with the worker's name when it
  /// has ended, answers with anything but a number, or takes longer than five minutes; why, it says itself
  /// on stderr.
  double answer();

 private:
  std::string name_;
  std::FILE* channel_ = nullptr;  ///< its stdin and stdout
  pid_t pid_ = -1;
};

}  // namespace course::bench
