#pragma once

#include <string>

#include "course/checkout.hpp"

namespace course::program {

/// Prints the next hint for a lesson's first open task, or for the task named ("05.2"); `again` repeats the
/// last one.
int hint(const Checkout& checkout, const std::string& lesson, bool again);

}  // namespace course::program
