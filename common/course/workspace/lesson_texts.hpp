#pragma once

#include <map>

#include "course/workspace/checkout.hpp"

namespace course::program {

/// What a lesson's header says of a task.
struct Contract {
  std::string text;      ///< the comment and the declaration, as they stand there
  std::string function;  ///< the name declared
};

/// The declarations whose comment starts with "/// Task T." in a header's text; a task may have several.
std::vector<Contract> parse_contracts(const std::string& header, const std::string& task);
/// The first of them; nullopt when there is none.
std::optional<Contract> parse_contract(const std::string& header, const std::string& task);

/// The same from the headers in the lesson's folder.
std::vector<Contract> contracts_of(const Checkout& checkout, const LessonInfo& lesson,
                                   const std::string& task);
std::optional<Contract> contract_of(const Checkout& checkout, const LessonInfo& lesson,
                                    const std::string& task);

/// Where a student finds a task in the lesson's files.
struct TaskPlace {
  std::filesystem::path file;  ///< from the root
  int line = 1;
};

/// The definition of the task's function in the student's files; the first file's first line where it cannot
/// be told.
TaskPlace task_place(const Checkout& checkout, const LessonInfo& lesson, const std::string& task);

/// The hints of hints.md by task: its sections are `## Task 2` (anything may follow the number), its items
/// `### Hint 1`. Text outside an item is left out.
std::map<std::string, std::vector<std::string>> parse_hints(const std::string& text);

/// The section of a lesson's README whose tables explain known mistakes.
inline constexpr const char* mistakes_section = "Common mistakes";

/// Without comments and Markdown's marks; of a link its words.
std::string plain_text(const std::string& markdown);

/// A row of such a table. Both cells are without Markdown's marks.
struct MistakeRow {
  int line = 0;      ///< in the page, from 1
  std::string seen;  ///< the first cell: what the student sees
  std::string cause;
  std::vector<std::string> mistakes;  ///< the ids of mistakes.md in the row's comment
  std::vector<std::string> facts;     ///< the kinds in it (protocol/fact_kinds.hpp)
  std::filesystem::path page{};       ///< from the root; empty where a text was parsed
};

/// The rows of the tables in a page's text. A comment names the mistakes that its row explains, and the kinds
/// of facts: `| NaN | no maximum <!-- no_maximum fact:outside_view --> |`.
std::vector<MistakeRow> parse_mistake_rows(const std::string& page);

/// The rows of the lesson's README, then those of the pages that its section links to as
/// `PAGE#common-mistakes`, where rows that several lessons share stand.
std::vector<MistakeRow> mistake_rows(const Checkout& checkout, const LessonInfo& lesson);

}  // namespace course::program
