#include "skeleton/skeleton.hpp"

#include <cctype>
#include <sstream>
#include <stdexcept>

namespace course {

namespace {

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == std::string::npos ? "" : line.substr(first);
}

std::string indentation(const std::string& line) {
  return line.substr(0, line.size() - trimmed(line).size());
}

[[noreturn]] void misplaced(int number, const std::string& line) {
  throw std::invalid_argument("line " + std::to_string(number) +
                              ": a mark without its partner: " + trimmed(line));
}

/// The end of the comment or literal that starts at `i`, or `i` where none does.
std::size_t after_comment(const std::string& text, std::size_t i) {
  if (text.compare(i, 2, "//") == 0) return std::min(text.find('\n', i), text.size());
  if (text.compare(i, 2, "/*") == 0) {
    const std::size_t end = text.find("*/", i + 2);
    return end == std::string::npos ? text.size() : end + 2;
  }
  return i;
}

std::size_t after_literal(const std::string& text, std::size_t i) {
  if (text[i] != '"' && text[i] != '\'') return i;
  const bool separates_digits =
      text[i] == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1]));
  if (separates_digits) return i;
  std::size_t end = i + 1;
  while (end < text.size() && text[end] != text[i]) end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

/// Adds a line, but no second blank one: where something is cut out, the blank lines around it meet.
void add_line(std::string& skeleton, const std::string& line) {
  const bool after_blank = skeleton.empty() || skeleton.ends_with("\n\n");
  if (!line.empty() || !after_blank) skeleton += line + "\n";
}

/// The code without blanks and comments; what stands between quotes is kept as it is.
std::string bare_code(const std::string& text) {
  std::string bare;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t comment_end = after_comment(text, i);
    const std::size_t literal_end = after_literal(text, i);
    if (comment_end > i) {
      i = comment_end;
    } else if (literal_end > i) {
      bare += text.substr(i, literal_end - i);
      i = literal_end;
    } else {
      if (!std::isspace(static_cast<unsigned char>(text[i]))) bare += text[i];
      ++i;
    }
  }
  return bare;
}

}  // namespace

std::string skeleton_of(const std::string& solution) {
  std::istringstream lines(solution);
  std::string skeleton;
  std::string open;  // what the mark that is open names
  int open_number = 0;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string mark = trimmed(line);
    if (mark.starts_with("//>")) {
      if (!open.empty()) misplaced(number, line);
      open = mark.substr(3);
      open_number = number;
    } else if (mark.starts_with("//<")) {
      if (open != mark.substr(3)) misplaced(number, line);
      open.clear();
    } else if (mark.starts_with("//|")) {
      if (open.empty()) misplaced(number, line);
      const std::string text = mark.substr(std::min<std::size_t>(4, mark.size()));
      add_line(skeleton, text.empty() ? "" : indentation(line) + text);
    } else if (open.empty()) {
      add_line(skeleton, line);
    }
  }
  if (!open.empty()) misplaced(open_number, "//>" + open);
  return skeleton;
}

std::string unmarked(const std::string& solution) {
  std::istringstream lines(solution);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const std::string mark = trimmed(line);
    const bool is_mark = mark.starts_with("//>") || mark.starts_with("//<") || mark.starts_with("//|");
    if (!is_mark) text += line + "\n";
  }
  return text;
}

bool same_code(const std::string& one, const std::string& other) {
  return bare_code(one) == bare_code(other);
}

}  // namespace course
