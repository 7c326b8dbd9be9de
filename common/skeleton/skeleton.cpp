#include "skeleton/skeleton.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "text/text_file.hpp"

namespace course {

namespace {

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == std::string::npos ? "" : line.substr(first);
}

/// A mark's sign, '>', '|' or '<', and what follows it; the sign is 0 where the line is none.
struct Mark {
  char sign = 0;
  std::string text;
};

/// A mark is a comment of the language's: "//>" in C++, "#>" in Python.
Mark mark_of(const std::string& line) {
  const std::string bare = trimmed(line);
  for (const std::string comment : {"//", "#"}) {
    const std::size_t sign = comment.size();
    if (!bare.starts_with(comment) || bare.size() <= sign) continue;
    if (std::string(">|<").find(bare[sign]) != std::string::npos) return {bare[sign], bare.substr(sign + 1)};
  }
  return {};
}

/// Adds a line, but no second blank one: where something is cut out, the blank lines around it meet.
void add_line(std::string& skeleton, const std::string& line) {
  const bool after_blank = skeleton.empty() || skeleton.ends_with("\n\n");
  if (!line.empty() || !after_blank) skeleton += line + "\n";
}

/// The end of the comment that starts at `i`, or `i` where none does.
std::size_t after_comment(const std::string& text, std::size_t i) {
  if (text.compare(i, 2, "//") == 0) return std::min(text.find('\n', i), text.size());
  if (text.compare(i, 2, "/*") == 0) {
    const std::size_t end = text.find("*/", i + 2);
    return end == std::string::npos ? text.size() : end + 2;
  }
  return i;
}

/// The end of the literal that starts at `i`, or `i` where none does.
std::size_t after_literal(const std::string& text, std::size_t i) {
  if (text[i] != '"' && text[i] != '\'') return i;
  const bool separates_digits =
      text[i] == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1]));
  if (separates_digits) return i;
  std::size_t end = i + 1;
  while (end < text.size() && text[end] != text[i]) end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

/// The text of C++ with ' ' for all that is blank or in a comment, and '"' for all of a literal.
std::string masked(const std::string& text) {
  std::string mask = text;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t comment_end = after_comment(text, i), literal_end = after_literal(text, i);
    const std::size_t end = std::max({i + 1, comment_end, literal_end});
    const bool is_blank = comment_end > i || std::isspace(static_cast<unsigned char>(text[i]));
    if (is_blank || literal_end > i) mask.replace(i, end - i, end - i, is_blank ? ' ' : '"');
    i = end;
  }
  return mask;
}

/// The code without blanks and comments; what stands between quotes is kept as it is.
std::string bare_code(const std::string& text) {
  const std::string mask = masked(text);
  std::string bare;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (mask[i] != ' ') bare += text[i];
  }
  return bare;
}

/// The bracket that closes the one at `i`, or the text's end.
std::size_t closing_bracket(const std::string& mask, std::size_t i) {
  int depth = 0;
  for (; i < mask.size(); ++i) {
    if (mask[i] == '(' || mask[i] == '{') ++depth;
    if (mask[i] == ')' || mask[i] == '}') --depth;
    if (depth == 0) break;
  }
  return i;
}

struct Definition {
  std::size_t name;
  std::size_t open;  ///< the body's brackets
  std::size_t close;
};

std::optional<Definition> find_definition(const std::string& text, const std::string& name) {
  const std::string mask = masked(text);
  const auto after_blanks = [&](std::size_t i) {
    return std::min(mask.find_first_not_of(' ', i), mask.size());
  };
  for (std::size_t at = mask.find(name); at != std::string::npos; at = mask.find(name, at + 1)) {
    const char before = at > 0 ? mask[at - 1] : ' ';
    if (std::isalnum(static_cast<unsigned char>(before)) || before == '_') continue;
    const std::size_t parameters = after_blanks(at + name.size());
    if (mask[parameters] != '(') continue;
    const std::size_t body = after_blanks(closing_bracket(mask, parameters) + 1);
    if (mask[body] == '{') return Definition{at, body, closing_bracket(mask, body)};
  }
  return std::nullopt;
}

}  // namespace

std::string skeleton_of(const std::string& solution) {
  std::string skeleton;
  std::string open;     // what the mark that is open names
  std::string opening;  // its line, with the number
  int number = 0;
  for (const std::string& line : lines_of(solution)) {
    const std::string place = "line " + std::to_string(++number) + ": a mark without its partner: ";
    const Mark mark = mark_of(line);
    const bool misplaced = (mark.sign == '>' && !open.empty()) || (mark.sign == '<' && open != mark.text) ||
                           (mark.sign == '|' && open.empty());
    if (misplaced) throw std::invalid_argument(place + trimmed(line));
    if (mark.sign == '>') {
      open = mark.text;
      opening = place + trimmed(line);
    } else if (mark.sign == '<') {
      open.clear();
    } else if (mark.sign == '|') {
      const std::string text = mark.text.substr(std::min<std::size_t>(1, mark.text.size()));
      const std::string indentation = line.substr(0, line.size() - trimmed(line).size());
      add_line(skeleton, text.empty() ? "" : indentation + text);
    } else if (open.empty()) {
      add_line(skeleton, line);
    }
  }
  if (!open.empty()) throw std::invalid_argument(opening);
  return skeleton;
}

std::string unmarked(const std::string& solution) {
  std::string text;
  for (const std::string& line : lines_of(solution)) {
    if (mark_of(line).sign == 0) text += line + "\n";
  }
  return text;
}

bool same_code(const std::string& one, const std::string& other) {
  return bare_code(one) == bare_code(other);
}

std::optional<int> definition_line(const std::string& text, const std::string& function) {
  const std::optional<Definition> found = find_definition(text, function);
  if (!found) return std::nullopt;
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, found->name), '\n'));
}

std::string without_definition(const std::string& text, const std::string& function) {
  const std::optional<Definition> found = find_definition(text, function);
  if (!found) return text;
  const std::string mask = masked(text);
  std::size_t start = text.rfind('\n', found->name) + 1;
  // Up to a blank line, or to one that ends something else.
  while (start > 1) {
    const std::size_t above = text.rfind('\n', start - 2) + 1;
    const std::string line = text.substr(above, start - 1 - above),
                      code = trimmed(mask.substr(above, start - 1 - above));
    const bool ends_something =
        !code.empty() && std::string(";{}").find(code[code.find_last_not_of(' ')]) != std::string::npos;
    if (trimmed(line).empty() || ends_something || code.starts_with("#")) break;
    start = above;
  }
  std::size_t end = std::min(text.find('\n', found->close), text.size() - 1) + 1;
  if (text.substr(end, 1) == "\n" && (start < 2 || text[start - 2] == '\n')) ++end;  // one blank line of two
  return text.substr(0, start) + text.substr(end);
}

std::string with_body(const std::string& text, const std::string& function, const std::string& statement) {
  const std::optional<Definition> found = find_definition(text, function);
  if (!found || found->close == text.size()) throw std::invalid_argument("it does not define " + function);
  return text.substr(0, found->open + 1) + "\n  " + statement + "\n" + text.substr(found->close);
}

}  // namespace course
