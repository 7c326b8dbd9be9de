#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace course {

/// A token of the source. All tokens one after another are the source again.
struct Token {
  enum class Kind { Space, Comment, Text, Word, Number, Mark } kind;
  std::string text;
  int line;
  bool is(std::string_view other) const { return text == other; }
  bool is_code() const { return kind != Kind::Space && kind != Kind::Comment; }
};

/// Splits a source into tokens. Marks are one character each.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace course
