#pragma once

#include <cstddef>
#include <string>

namespace course {

/// How many columns the text takes: characters, not bytes, without what sets a colour.
std::size_t columns_of(const std::string& text);

/// The text with lines that take more than `width` columns broken at blanks; 0 is any width. What is broken
/// off stands two columns further in than its line, under the line's second column where two blanks or more
/// set one apart, and behind the same sign in a comment of C++. A word that does not fit stays whole.
std::string wrapped(const std::string& text, std::size_t width);

}  // namespace course
