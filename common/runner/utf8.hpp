#pragma once

#include <cstddef>
#include <string>

namespace course {

/// How many bytes the UTF-8 character that begins at `at` has; 0 when none does: a stray byte, a form longer
/// than need be, a surrogate, or beyond the last character.
std::size_t utf8_length(const std::string& text, std::size_t at);

}  // namespace course
