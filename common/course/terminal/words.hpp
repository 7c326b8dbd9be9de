#pragma once

#include <functional>
#include <string>
#include <vector>

namespace course::program {

/// A command in one string, cut into words at blanks; quotes ('...' and "...") hold a word together. Throws
/// UsageError for an open quote or a command without a word.
std::vector<std::string> words_of(const std::string& command);

/// The text as one word of a shell, in single quotes.
std::string shell_word(const std::string& text);

/// What `text_of`, which may be a member, makes of each item, with `between` between two of them.
template <class Items, class TextOf = std::identity>
std::string joined(const Items& items, const TextOf& text_of = {}, const std::string& between = ", ") {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : between) + std::invoke(text_of, item);
  return text;
}

}  // namespace course::program
