#include "skeleton/skeleton.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
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

/// `cut` says of each mark ("task 1") whether what it encloses is cut out.
std::string cut_skeleton(const std::string& solution, const std::function<bool(const std::string&)>& cut) {
  std::istringstream lines(solution);
  std::string skeleton;
  std::string open;     // what the mark that is open names
  std::string opening;  // its line
  int open_number = 0;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const Mark mark = mark_of(line);
    if (mark.sign == '>') {
      if (!open.empty()) misplaced(number, line);
      open = mark.text;
      opening = line;
      open_number = number;
    } else if (mark.sign == '<') {
      if (open != mark.text) misplaced(number, line);
      open.clear();
    } else if (mark.sign == '|') {
      if (open.empty()) misplaced(number, line);
      if (!cut(trimmed(open))) continue;
      const std::string text = mark.text.substr(std::min<std::size_t>(1, mark.text.size()));
      add_line(skeleton, text.empty() ? "" : indentation(line) + text);
    } else if (open.empty() || !cut(trimmed(open))) {
      add_line(skeleton, line);
    }
  }
  if (!open.empty()) misplaced(open_number, opening);
  return skeleton;
}

/// The first place from `i` on that is neither a blank nor in a comment.
std::size_t after_blanks(const std::string& text, std::size_t i) {
  while (i < text.size()) {
    const std::size_t comment_end = after_comment(text, i);
    if (comment_end == i && !std::isspace(static_cast<unsigned char>(text[i]))) break;
    i = std::max(comment_end, i + 1);
  }
  return i;
}

/// The bracket that closes the one at `i`, or the text's end.
std::size_t closing_bracket(const std::string& text, std::size_t i) {
  int depth = 0;
  while (i < text.size()) {
    const std::size_t skipped = std::max(after_comment(text, i), after_literal(text, i));
    if (skipped > i) {
      i = skipped;
      continue;
    }
    if (text[i] == '(' || text[i] == '{') ++depth;
    if (text[i] == ')' || text[i] == '}') --depth;
    if (depth == 0) return i;
    ++i;
  }
  return text.size();
}

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

struct Definition {
  std::size_t name;
  std::size_t open;  ///< the body's brackets
  std::size_t close;
};

/// The body's first bracket when a definition's name stands at `i`, else the text's end.
std::size_t body_after_name(const std::string& text, std::size_t i, const std::string& name) {
  const bool here = text.compare(i, name.size(), name) == 0 && (i == 0 || !in_name(text[i - 1]));
  if (!here) return text.size();
  const std::size_t parameters = after_blanks(text, i + name.size());
  if (parameters >= text.size() || text[parameters] != '(') return text.size();
  const std::size_t end = closing_bracket(text, parameters);
  const std::size_t body = after_blanks(text, std::min(end + 1, text.size()));
  return body < text.size() && text[body] == '{' ? body : text.size();
}

std::optional<Definition> find_definition(const std::string& text, const std::string& name) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t skipped = std::max(after_comment(text, i), after_literal(text, i));
    const std::size_t body = skipped > i ? text.size() : body_after_name(text, i, name);
    if (body < text.size()) return Definition{i, body, closing_bracket(text, body)};
    i = std::max(skipped, i + 1);
  }
  return std::nullopt;
}

}  // namespace

std::string skeleton_of(const std::string& solution) {
  return cut_skeleton(solution, [](const std::string&) { return true; });
}

std::string skeleton_of(const std::string& solution, const std::set<std::string>& tasks) {
  return cut_skeleton(solution, [&](const std::string& mark) {
    return std::any_of(tasks.begin(), tasks.end(),
                       [&](const std::string& task) { return mark == "task " + task; });
  });
}

std::string unmarked(const std::string& solution) {
  std::istringstream lines(solution);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
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
  return 1 + static_cast<int>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(found->name), '\n'));
}

std::string with_body(const std::string& text, const std::string& function, const std::string& statement) {
  const std::optional<Definition> found = find_definition(text, function);
  if (!found || found->close == text.size()) throw std::invalid_argument("it does not define " + function);
  return text.substr(0, found->open + 1) + "\n  " + statement + "\n" + text.substr(found->close);
}

}  // namespace course
