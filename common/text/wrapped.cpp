#include "text/wrapped.hpp"

#include <algorithm>
#include <regex>

namespace course {

namespace {

/// What stands before what is broken off a line.
std::string lead_of(const std::string& line, std::size_t width) {
  static const std::regex comment(" *//+ *"), apart("( *[^ ](?:[^ ]| [^ ])*  +)[^ ].*");
  std::smatch found;
  if (std::regex_search(line, found, comment, std::regex_constants::match_continuous)) return found.str();
  if (std::regex_match(line, found, apart) && columns_of(found[1]) <= width / 2)
    return std::string(columns_of(found[1]), ' ');
  return std::string(line.find_first_not_of(' ') + 2, ' ');
}

/// A line that is too wide. Blanks between two words stay as they are but where the line is broken.
std::string broken(const std::string& line, std::size_t width) {
  const std::string lead = lead_of(line, width);
  std::string text, current;
  bool has_word = false;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t word = std::min(line.find_first_not_of(' ', at), line.size());
    const std::size_t end = std::min(line.find(' ', word), line.size());
    const std::string blanks = line.substr(at, word - at), letters = line.substr(word, end - word);
    if (has_word && columns_of(current) + blanks.size() + columns_of(letters) > width) {
      text += current + "\n";
      current = lead + letters;
    } else {
      current += blanks + letters;
    }
    // The sign of a comment is no word that a line could be broken behind.
    has_word = has_word || current.find_first_not_of(" /") != std::string::npos;
    at = end;
  }
  return text + current;
}

}  // namespace

std::size_t columns_of(const std::string& text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033')
      i = std::min(text.find('m', i), text.size());
    else
      columns += (text[i] & 0xC0) != 0x80 ? 1 : 0;
  }
  return columns;
}

std::string wrapped(const std::string& text, std::size_t width) {
  if (width == 0) return text;
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    result += columns_of(line) > width ? broken(line, width) : line;
    if (end < text.size()) result += '\n';
    at = end + 1;
  }
  return result;
}

}  // namespace course
