#pragma once

#include <string>
#include <vector>

namespace course::program {

/// A command in one string, cut into words at blanks; quotes ('...' and "...") hold a word together. Throws
/// UsageError for an open quote or a command without a word.
std::vector<std::string> words_of(const std::string& command);

/// The text as one word of a shell, in single quotes.
std::string shell_word(const std::string& text);

}  // namespace course::program
