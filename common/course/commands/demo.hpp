#pragma once

#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::program {

/// Builds what the demo needs and hands the arguments on to it. With --mine among them it runs the student's
/// own lessons: the block computation and the first ring shown must pass as they stand; the overlapped ring
/// beside the blocking one, and the backward pass, are left out with a line on stderr where their lessons do
/// not. Returns the demo's exit code.
int demo(const Checkout& checkout, const std::vector<std::string>& arguments);

}  // namespace course::program
