#include "text/utf8.hpp"

#include <algorithm>
#include <cstddef>

namespace course {

namespace {

/// How many bytes the UTF-8 character that begins at `at` has; 0 when none does: a stray byte, a form longer
/// than need be, a surrogate, or beyond the last character.
std::size_t utf8_length(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(at);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(at + 1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool no_character = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || no_character ? 0 : length;
}

bool is_allowed(const std::string& character) {
  const auto byte = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return byte >= 0x20 ? byte != 0x7F : byte == '\t' || byte == '\n';
  return character != "\xEF\xBF\xBE" && character != "\xEF\xBF\xBF";
}

/// The text with replacement(character) in place of what is no character, or is not allowed.
template <class Replacement>
std::string replaced(const std::string& text, Replacement replacement) {
  std::string clean;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const std::string character = text.substr(at, std::max<std::size_t>(1, length));
    clean += length > 0 && is_allowed(character) ? character : replacement(character);
    at += character.size();
  }
  return clean;
}

}  // namespace

bool is_utf8(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string clean_utf8(const std::string& text, const std::string& replacement) {
  return replaced(text, [&](const std::string&) { return replacement; });
}

std::string escaped_utf8(const std::string& text) {
  return replaced(text, [](const std::string& character) {
    constexpr const char* digits = "0123456789ABCDEF";
    std::string escaped;
    for (const char c : character) {
      const auto byte = static_cast<unsigned char>(c);
      escaped += std::string("\\x") + digits[byte >> 4] + digits[byte & 15];
    }
    return escaped;
  });
}

}  // namespace course
