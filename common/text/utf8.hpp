#pragma once

#include <string>

namespace course {

/// Whether every byte of the text is part of a UTF-8 character.
bool is_utf8(const std::string& text);

/// The text as any format can carry it and any terminal show it: `replacement` (U+FFFD) for each byte that is
/// not UTF-8, for control characters but the line feed and the tab, and for what XML 1.0 forbids besides.
/// Source of the characters: https://www.w3.org/TR/xml/#charsets
std::string clean_utf8(const std::string& text, const std::string& replacement = "\xEF\xBF\xBD");

/// The same with a backslash, an x and two hexadecimal digits for each such byte.
std::string escaped_utf8(const std::string& text);

}  // namespace course
