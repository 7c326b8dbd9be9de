#pragma once

#include <chrono>

namespace course {

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
