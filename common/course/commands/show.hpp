#pragma once

#include <string>

#include "course/workspace/checkout.hpp"

namespace course::program {

/// Prints the student's files beside the solution's, once they pass as they stand or with `spoil`.
int show(const Checkout& checkout, const std::string& lesson, bool spoil);

/// The text with lines longer than `width` characters cut, what is cut off on lines of its own, indented.
std::string folded(const std::string& text, std::size_t width);

}  // namespace course::program
