#pragma once

#include <cstddef>
#include <string>

namespace course {

/// How many columns the text takes: characters, not bytes, without what sets a colour.
std::size_t columns_of(const std::string& text);

/// The text with lines that take more than `width` columns broken at blanks; 0 is any width. What is broken
/// off stands two columns further in than its line, or under the line's second column where two blanks or
/// more set one apart. A word that does not fit stays whole.
std::string wrapped(const std::string& text, std::size_t width);

/// A declaration of C++ with the comment above it: the comment's paragraphs are filled anew, each line behind
/// its sign, where any line of the comment is too wide. Lines of code stay as they are.
std::string wrapped_comments(const std::string& text, std::size_t width);

/// A text in Markdown: a paragraph with a line that is too wide is filled anew, and stands under its first
/// line. Tables, headings and what stands in a fence or four columns in stay as they are.
std::string wrapped_markdown(const std::string& text, std::size_t width);

}  // namespace course
