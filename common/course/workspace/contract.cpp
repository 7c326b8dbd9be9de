#include "course/workspace/contract.hpp"

#include <algorithm>
#include <cctype>

#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

/// The name before the first bracket of a declaration.
std::string declared_name(const std::string& declaration) {
  const std::size_t end = std::min(declaration.find('('), declaration.size());
  std::size_t begin = end;
  const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  while (begin > 0 && in_name(declaration[begin - 1])) --begin;
  return declaration.substr(begin, end - begin);
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

}  // namespace course::program
