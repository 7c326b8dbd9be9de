#include "course/workspace/lesson_texts.hpp"

#include <algorithm>
#include <cctype>

#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The name before the first bracket of a declaration.
std::string declared_name(const std::string& declaration) {
  const auto end = std::ranges::find(declaration, '(');
  auto begin = end;
  while (begin != declaration.begin() && in_name(begin[-1])) --begin;
  return {begin, end};
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

}  // namespace

std::optional<Contract> parse_contract(const std::string& header, const std::string& task) {
  Contract contract;
  std::string declaration;
  for (const std::string& line : lines_of(header)) {
    if (contract.text.empty() && !line.starts_with("/// Task " + task + ".")) continue;
    contract.text += line + "\n";
    if (line.starts_with("//")) continue;
    declaration += line + "\n";
    if (line.find(';') == std::string::npos) continue;
    contract.function = declared_name(declaration);
    return contract;
  }
  return std::nullopt;
}

std::optional<Contract> contract_of(const Checkout& checkout, const LessonInfo& lesson,
                                    const std::string& task) {
  std::error_code none;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(checkout.root / Checkout::lesson_folder(lesson), none)) {
    if (entry.path().extension() != ".hpp") continue;
    if (std::optional<Contract> found = parse_contract(read_text(entry.path()), task)) return found;
  }
  return std::nullopt;
}

TaskPlace task_place(const Checkout& checkout, const LessonInfo& lesson, const std::string& task) {
  const std::optional<Contract> contract = contract_of(checkout, lesson, task);
  for (const std::string& file : lesson.files) {
    const fs::path path = Checkout::student_file(lesson, file);
    if (!contract || !fs::is_regular_file(checkout.root / path)) continue;
    const std::optional<int> line = definition_line(read_text(checkout.root / path), contract->function);
    if (line) return {path, *line};
  }
  return {Checkout::student_file(lesson, lesson.files.front()), 1};
}

std::map<std::string, std::vector<std::string>> parse_hints(const std::string& text) {
  const std::string section = "## Task ";
  std::map<std::string, std::vector<std::string>> hints;
  std::string task;
  bool in_hint = false;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("### ")) {
      in_hint = line.starts_with("### Hint") && !task.empty();
      if (in_hint) hints[task].emplace_back();
    } else if (line.starts_with("## ")) {
      const auto id = line.begin() + static_cast<std::ptrdiff_t>(std::min(section.size(), line.size()));
      task = line.starts_with(section) ? std::string(id, std::find_if_not(id, line.end(), in_name)) : "";
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
