#pragma once

#include <exception>
#include <stdexcept>

namespace course {

/// The course's exit codes.
enum ExitCode { succeeded = 0, failed = 1, wrong_usage = 2, unavailable = 3 };

/// Another build goes on, and this call is not to wait for it (./course asks so, and knows the exit code).
struct WouldWait : std::exception {
  static constexpr int exit_code = 75;
};

/// A wrong argument or file. what() is one line that says what was expected.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Something that this machine or this checkout does not have. what() is one line that says what.
struct Unavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace course
