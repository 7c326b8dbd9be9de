#pragma once

#include "course/terminal/terminal.hpp"
#include "demo/demonstration.hpp"

namespace course::demo {

/// Plays the cases on this machine; passes on what the ranks print, and says how far they are. Without a sign
/// of life for `quiet_limit_s` they are ended. Throws Unavailable where ranks cannot be started, and
/// std::runtime_error that says why no answer came back. Nothing that was started outlives the call.
std::vector<Outcome> play(const Demonstration& shown, const Libraries& libraries, double quiet_limit_s,
                          program::ProgressLine& progress);

}  // namespace course::demo
