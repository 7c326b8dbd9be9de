#include "course/workspace/hints.hpp"

#include <cctype>

#include "text/text_file.hpp"

namespace course::program {

namespace {

/// The word after `prefix`, up to a blank or punctuation: "2" in "## Task 2: merge".
std::string id_after(const std::string& line, const std::string& prefix) {
  std::size_t end = prefix.size();
  while (end < line.size() && std::isalnum(static_cast<unsigned char>(line[end])) != 0) ++end;
  return line.substr(prefix.size(), end - prefix.size());
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

}  // namespace

std::map<std::string, std::vector<std::string>> parse_hints(const std::string& text) {
  std::map<std::string, std::vector<std::string>> hints;
  std::string task;
  bool in_hint = false;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("### ")) {
      in_hint = line.starts_with("### Hint") && !task.empty();
      if (in_hint) hints[task].emplace_back();
    } else if (line.starts_with("## ")) {
      task = line.starts_with("## Task ") ? id_after(line, "## Task ") : "";
      in_hint = false;
    } else if (in_hint) {
      hints[task].back() += line + "\n";
    }
  }
  for (auto& [id, texts] : hints) {
    for (std::string& hint : texts) hint = trimmed(hint);
  }
  return hints;
}

}  // namespace course::program
