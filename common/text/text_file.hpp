#pragma once

#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

namespace course {

/// A whole file. Throws std::runtime_error with the path and the reason.
std::string read_text(const std::filesystem::path& path);

/// Writes a whole file or leaves what was there; makes its folder. Throws std::runtime_error with the path.
void write_text(const std::filesystem::path& path, const std::string& text);

/// Tells one content of several files from another (64-bit FNV-1a, in hexadecimal).
std::string content_hash(const std::vector<std::string>& texts);

std::vector<std::string> lines_of(const std::string& text);

/// The parts of a text between separators.
std::vector<std::string> split(const std::string& text, char separator);

/// The first line without its numbers: two texts with one outline say the same of different numbers.
std::string outline_of(const std::string& text);

/// "a, b and c", of texts or numbers.
template <class Item>
std::string listed(const std::vector<Item>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    text += i == 0 ? "" : i + 1 == items.size() ? " and " : ", ";
    if constexpr (std::is_arithmetic_v<Item>)
      text += std::to_string(items[i]);
    else
      text += items[i];
  }
  return text;
}

/// The time now, in local time, as strftime formats it.
std::string local_time(const char* format);

/// 20250131-235959: part of a file's name.
inline std::string timestamp() {
  return local_time("%Y%m%d-%H%M%S");
}

/// `folder/name`, or `folder/name-2` ... where that is taken.
std::filesystem::path unused_path(const std::filesystem::path& path);

}  // namespace course
