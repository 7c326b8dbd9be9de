#pragma once

#include <stdexcept>

#include "protocol/errors.hpp"

namespace course::demo {

/// The course's exit codes.
enum ExitCode { succeeded = 0, failed = 1, wrong_input = 2, unavailable = 3 };

/// A wrong option or file. what() is one line that says what was expected.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using program::Unavailable;

/// Says what is being thrown at the moment, in one line on stderr, and returns the exit code that it means.
/// Call it in a catch block.
int report_exception();

}  // namespace course::demo
