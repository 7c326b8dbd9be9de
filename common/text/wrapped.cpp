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

/// What stands at the beginning of a list's item: "- ", "10. "; empty of another line.
std::string item_sign(const std::string& line) {
  static const std::regex sign(" *(?:[-*]|[0-9]+\\.) +");
  std::smatch found;
  return std::regex_search(line, found, sign, std::regex_constants::match_continuous) ? found.str() : "";
}

/// Whether a line of Markdown, in no fence, is one that may flow on: neither blank nor a table's, a heading's
/// or code's.
bool is_prose(const std::string& line) {
  return line.find_first_not_of(' ') != std::string::npos && !line.starts_with("    ") &&
         line.find_first_of("|#>") != 0;
}

/// Whether a fence begins or ends at the line.
bool is_fence(const std::string& line) {
  return line.starts_with("```");
}

/// The lines of Markdown's paragraph that begins with lines[at], the first one's blanks in front, as one
/// line. `at` goes to the first line behind it.
std::string prose_at(std::size_t& at, const std::vector<std::string>& lines) {
  std::string text = lines[at++];
  for (; at < lines.size() && is_prose(lines[at]) && !is_fence(lines[at]) && item_sign(lines[at]).empty();
       ++at)
    text += " " + lines[at].substr(lines[at].find_first_not_of(' '));
  return text;
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

/// The lines without the end of the last where the text has none.
std::string with_end_of(const std::string& text, std::string lines) {
  if (!lines.empty() && !text.ends_with('\n')) lines.pop_back();
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
  std::string result;
  for (const std::string& line : lines_in(text))
    result += (columns_of(line) > width ? broken(line, lead_of(line, width), width) : line) + "\n";
  return with_end_of(text, std::move(result));
}

std::string wrapped_comments(const std::string& text, std::size_t width) {
  const std::vector<std::string> lines = lines_in(text);
  std::size_t widest = 0;
  for (const std::string& line : lines) {
    if (!comment_sign(line).empty()) widest = std::max(widest, columns_of(line));
  }
  if (width == 0 || widest <= width) return text;
  std::string result;
  for (std::size_t at = 0; at < lines.size();) {
    const std::string sign = comment_sign(lines[at]);
    if (sign.empty()) {
      result += lines[at++] + "\n";
      continue;
    }
    const auto [line, lead] = paragraph_at(at, lines, widest);
    result += broken(line, lead.empty() ? sign : lead, width) + "\n";
  }
  return with_end_of(text, std::move(result));
}

std::string wrapped_markdown(const std::string& text, std::size_t width) {
  if (width == 0) return text;
  const std::vector<std::string> lines = lines_in(text);
  std::string result;
  bool in_fence = false;
  for (std::size_t at = 0; at < lines.size();) {
    in_fence = in_fence != is_fence(lines[at]);
    if (in_fence || is_fence(lines[at]) || !is_prose(lines[at])) {
      result += lines[at++] + "\n";
      continue;
    }
    const std::size_t first = at;
    const std::string line = prose_at(at, lines);
    const std::size_t in = std::max(item_sign(line).size(), line.find_first_not_of(' '));
    const bool is_wide = std::any_of(lines.begin() + static_cast<std::ptrdiff_t>(first),
                                     lines.begin() + static_cast<std::ptrdiff_t>(at),
                                     [&](const std::string& one) { return columns_of(one) > width; });
    if (is_wide) {
      result += broken(line, std::string(in, ' '), width) + "\n";
    } else {
      for (std::size_t i = first; i < at; ++i) result += lines[i] + "\n";
    }
  }
  return with_end_of(text, std::move(result));
}

}  // namespace course
