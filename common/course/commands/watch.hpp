#pragma once

#include <string>

#include "course/workspace/checkout.hpp"

namespace course::program {

/// Checks a lesson at each save of its files until it passes, then goes on with the next that is not passed.
/// Starts with `lesson`, or where that is empty with the first that is not passed. Returns when every lesson
/// is passed; throws Interrupted at Ctrl-C.
int watch(const Checkout& checkout, const std::string& lesson, bool problems);

}  // namespace course::program
