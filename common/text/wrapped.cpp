#include "text/wrapped.hpp"

#include <algorithm>
#include <regex>
#include <vector>

namespace course {

namespace {

/// A comment's sign with the blanks around it; empty of another line.
std::string comment_sign(const std::string& line) {
  static const std::regex sign(" *//+ *");
  std::smatch found;
  return std::regex_search(line, found, sign, std::regex_constants::match_continuous) ? found.str() : "";
}

/// What stands before what is broken off a line.
std::string lead_of(const std::string& line, std::size_t width) {
  static const std::regex apart("( *[^ ](?:[^ ]| [^ ])*  +)[^ ].*");
  std::smatch found;
  if (const std::string sign = comment_sign(line); !sign.empty()) return sign;
  if (std::regex_match(line, found, apart) && columns_of(found[1]) <= width / 2)
    return std::string(columns_of(found[1]), ' ');
  return std::string(line.find_first_not_of(' ') + 2, ' ');
}

/// A line that is too wide. Blanks between two words stay as they are but where the line is broken.
std::string broken(const std::string& line, const std::string& lead, std::size_t width) {
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

/// Lines that go on one another, and what stands before all but the first.
struct Paragraph {
  std::string text, lead;
};

/// The paragraph of a comment that begins with lines[at], which goes to the first line behind it: lines are
/// one where the next one's first word did not fit into `most` columns.
Paragraph paragraph_at(std::size_t& at, const std::vector<std::string>& lines, std::size_t most) {
  Paragraph paragraph{lines[at], ""};
  for (; at + 1 < lines.size(); ++at) {
    const std::string sign = comment_sign(lines[at + 1]);
    const std::string words = lines[at + 1].substr(sign.size());
    const bool is_same = !comment_sign(lines[at]).empty() && !sign.empty() &&
                         (paragraph.lead.empty() || paragraph.lead == sign);
    if (!is_same || words.empty() || words.starts_with("- ")) break;
    if (columns_of(lines[at]) + 1 + columns_of(words.substr(0, words.find(' '))) <= most) break;
    paragraph.lead = sign;
    paragraph.text += " " + words;
  }
  ++at;
  return paragraph;
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
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
  const std::vector<std::string> lines = lines_in(text);
  std::size_t widest_comment = 0;
  for (const std::string& line : lines) {
    if (!comment_sign(line).empty()) widest_comment = std::max(widest_comment, columns_of(line));
  }
  std::string result;
  for (std::size_t at = 0; at < lines.size();) {
    if (widest_comment <= width && columns_of(lines[at]) <= width) {
      result += lines[at++];
    } else {
      const auto [line, lead] = paragraph_at(at, lines, widest_comment);
      const bool is_wide = columns_of(line) > width;
      result += is_wide ? broken(line, lead.empty() ? lead_of(line, width) : lead, width) : line;
    }
    if (at < lines.size() || text.ends_with('\n')) result += '\n';
  }
  return result;
}

}  // namespace course
