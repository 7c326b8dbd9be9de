#include "course/workspace/lesson_texts.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <regex>
#include <utility>

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

/// The cells of "| a | b |". A bar that a backslash precedes is text.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool escaped = row[i] == '\\' && row.substr(i + 1, 1) == "|";
    if (row[i] == '|')
      cells.emplace_back();
    else if (!cells.empty())
      cells.back() += row[escaped ? ++i : i];
  }
  return cells;
}

/// The words of the comments in it.
std::vector<std::string> commented_words(const std::string& markdown) {
  static const std::regex comment("<!--(.*?)-->"), word("\\S+");
  std::vector<std::string> words;
  for (std::sregex_iterator found(markdown.begin(), markdown.end(), comment), end; found != end; ++found) {
    const std::string inside = found->str(1);
    std::copy(std::sregex_token_iterator(inside.begin(), inside.end(), word), {}, std::back_inserter(words));
  }
  return words;
}

bool opens_mistakes(const std::string& heading) {
  return heading == std::string("## ") + mistakes_section;
}

/// The pages, relative to this one's folder, that its section on mistakes links to for rows of theirs.
std::vector<std::string> pages_of_shared_rows(const std::string& readme) {
  static const std::regex link(R"(\]\(([^)#]+)#common-mistakes\))");
  std::vector<std::string> pages;
  bool in_section = false;
  for (const std::string& line : lines_of(readme)) {
    if (line.starts_with("## ")) in_section = opens_mistakes(line);
    if (!in_section) continue;
    for (std::sregex_iterator found(line.begin(), line.end(), link), end; found != end; ++found)
      pages.push_back(found->str(1));
  }
  return pages;
}

/// Empty where there is no such page.
std::vector<MistakeRow> rows_of_page(const fs::path& root, const fs::path& page) {
  if (!fs::is_regular_file(root / page)) return {};
  std::vector<MistakeRow> rows = parse_mistake_rows(read_text(root / page));
  for (MistakeRow& row : rows) row.page = page;
  return rows;
}

}  // namespace

std::string plain_text(const std::string& markdown) {
  static const std::regex comment("<!--.*?-->"), link(R"(\[([^\]]*)\]\([^)]*\))");
  std::string text = std::regex_replace(std::regex_replace(markdown, comment, ""), link, "$1");
  std::erase_if(text, [](char c) { return c == '`' || c == '*' || c == '$'; });
  return trimmed(text);
}

std::vector<Contract> parse_contracts(const std::string& header, const std::string& task) {
  std::vector<Contract> contracts;
  Contract contract;
  std::string declaration;
  for (const std::string& line : lines_of(header)) {
    if (contract.text.empty() && !line.starts_with("/// Task " + task + ".")) continue;
    contract.text += line + "\n";
    if (line.starts_with("//")) continue;
    declaration += line + "\n";
    if (line.find(';') == std::string::npos) continue;
    contract.function = declared_name(declaration);
    contracts.push_back(std::exchange(contract, {}));
    declaration.clear();
  }
  return contracts;
}

std::optional<Contract> parse_contract(const std::string& header, const std::string& task) {
  const std::vector<Contract> contracts = parse_contracts(header, task);
  return contracts.empty() ? std::nullopt : std::optional(contracts.front());
}

std::vector<Contract> contracts_of(const Checkout& checkout, const LessonInfo& lesson,
                                   const std::string& task) {
  std::vector<Contract> contracts;
  std::error_code none;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(checkout.root / Checkout::lesson_folder(lesson), none)) {
    if (entry.path().extension() == ".hpp")
      std::ranges::copy(parse_contracts(read_text(entry.path()), task), std::back_inserter(contracts));
  }
  return contracts;
}

std::optional<Contract> contract_of(const Checkout& checkout, const LessonInfo& lesson,
                                    const std::string& task) {
  const std::vector<Contract> contracts = contracts_of(checkout, lesson, task);
  return contracts.empty() ? std::nullopt : std::optional(contracts.front());
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

std::vector<MistakeRow> parse_mistake_rows(const std::string& page) {
  constexpr int head_lines = 2;
  constexpr std::string_view of_a_fact = "fact:";
  std::vector<MistakeRow> rows;
  bool in_section = false;
  int number = 0, line_of_table = 0;
  for (const std::string& line : lines_of(page)) {
    ++number;
    if (line.starts_with("## ")) in_section = opens_mistakes(line);
    line_of_table = line.starts_with("|") ? line_of_table + 1 : 0;
    const std::vector<std::string> cells = cells_of(line);
    if (!in_section || line_of_table <= head_lines || cells.size() < 2) continue;
    MistakeRow row;
    row.line = number;
    row.seen = plain_text(cells[0]);
    row.cause = plain_text(cells[1]);
    for (const std::string& word : commented_words(line)) {
      if (word.starts_with(of_a_fact))
        row.facts.push_back(word.substr(of_a_fact.size()));
      else
        row.mistakes.push_back(word);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<MistakeRow> mistake_rows(const Checkout& checkout, const LessonInfo& lesson) {
  const fs::path readme = Checkout::lesson_folder(lesson) / "README.md";
  std::vector<MistakeRow> rows = rows_of_page(checkout.root, readme);
  if (!fs::is_regular_file(checkout.root / readme)) return rows;
  for (const std::string& page : pages_of_shared_rows(read_text(checkout.root / readme))) {
    const std::vector<MistakeRow> shared =
        rows_of_page(checkout.root, (readme.parent_path() / page).lexically_normal());
    rows.insert(rows.end(), shared.begin(), shared.end());
  }
  return rows;
}

}  // namespace course::program
