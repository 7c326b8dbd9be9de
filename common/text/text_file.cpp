#include "text/text_file.hpp"

#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace course {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string() + ": " + std::strerror(errno));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) throw std::runtime_error("cannot read " + path.string() + ": it is not a readable file");
  return text;
}

void write_text(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const fs::path part = path.string() + ".part" + std::to_string(getpid());
  std::ofstream file(part, std::ios::binary);
  file << text;
  file.close();
  if (file) fs::rename(part, path, error);
  if (!file || error) {
    const std::string reason = error ? error.message() : std::strerror(errno);
    fs::remove(part, error);
    throw std::runtime_error("cannot write " + path.string() + ": " + reason);
  }
}

std::string content_hash(const std::vector<std::string>& texts) {
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&hash](unsigned char byte) { hash = (hash ^ byte) * 1099511628211u; };
  for (const std::string& text : texts) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    add(0);  // so that moving a line from one file to the next is a change
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string outline_of(const std::string& text) {
  std::string words = text.substr(0, text.find('\n'));
  std::erase_if(words,
                [](char c) { return std::isdigit(static_cast<unsigned char>(c)) || c == '-' || c == '.'; });
  return words;
}

std::string local_time(const char* format) {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, format, std::localtime(&now));
  return text;
}

fs::path unused_path(const fs::path& path) {
  fs::path candidate = path;
  for (int number = 2; fs::exists(candidate); ++number)
    candidate = path.string() + "-" + std::to_string(number);
  return candidate;
}

}  // namespace course
