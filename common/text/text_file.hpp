#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace course {

/// A whole file. Throws std::runtime_error with the path and the reason.
std::string read_text(const std::filesystem::path& path);

/// Writes a whole file or leaves what was there; makes its folder. Throws std::runtime_error with the path.
void write_text(const std::filesystem::path& path, const std::string& text);

/// Tells one content of several files from another (64-bit FNV-1a, in hexadecimal).
std::string content_hash(const std::vector<std::string>& texts);

std::vector<std::string> lines_of(const std::string& text);

/// The time now as 20250131-235959, in local time: part of a file's name.
std::string timestamp();

/// The time now as 23:59:59, in local time.
std::string clock_time();

/// The time now as 2025-01-31 23:59:59, in local time.
std::string date_and_time();

/// `folder/name`, or `folder/name-2` ... where that is taken.
std::filesystem::path unused_path(const std::filesystem::path& path);

}  // namespace course
