#include "grader/roster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"
#include "text/text_file.hpp"

namespace course::program::grader {

namespace {

constexpr const char* byte_order_mark = "\xEF\xBB\xBF";  // with which Excel begins a file

std::size_t column(const std::vector<std::string>& head, const std::string& name) {
  const auto found = std::ranges::find(head, name);
  if (found == head.end())
    throw UsageError(
        fmt::format("--roster: the first line is '{}', expected columns separated by commas, "
                    "'submission' and 'id' among them",
                    joined(head, {}, ",")));
  return static_cast<std::size_t>(found - head.begin());
}

}  // namespace

std::vector<std::vector<std::string>> csv_rows(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  bool in_row = false, quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool ends_line = !quoted && (c == '\n' || c == '\r');
    if (!in_row && !ends_line) rows.push_back({""});
    in_row = !ends_line;
    if (ends_line) continue;
    if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"')
      rows.back().back() += text[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      rows.back().emplace_back();
    else
      rows.back().back() += c;
  }
  if (quoted) throw std::invalid_argument("a quote is left open");
  return rows;
}

std::string csv_field(const std::string& text) {
  std::string result = "\"";
  if (!text.empty() && std::string("=+-@\t\r").find(text[0]) != std::string::npos) result += "'";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + "\"";
}

std::map<std::string, std::string> read_roster(const std::filesystem::path& file) {
  std::vector<std::vector<std::string>> rows;
  try {
    std::string text = read_text(file);
    if (text.starts_with(byte_order_mark)) text.erase(0, 3);
    rows = csv_rows(text);
  } catch (const std::exception& error) {
    throw UsageError(fmt::format("--roster: {}: {}", file.string(), error.what()));
  }
  if (rows.empty()) throw UsageError("--roster: " + file.string() + " is empty");
  const std::size_t submission = column(rows.front(), "submission"), id = column(rows.front(), "id");
  std::map<std::string, std::string> ids, submissions;  // by id
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].size() != rows.front().size())
      throw UsageError(fmt::format("--roster: row {}, '{}', has {} fields, expected {}", i + 1,
                                   joined(rows[i], {}, ","), rows[i].size(), rows.front().size()));
    if (!ids.emplace(rows[i][submission], rows[i][id]).second)
      throw UsageError(
          fmt::format("--roster: row {} has submission '{}' a second time", i + 1, rows[i][submission]));
    if (rows[i][id].empty()) continue;  // not known yet, of any number of students
    if (const auto [other, is_new] = submissions.emplace(rows[i][id], rows[i][submission]); !is_new)
      throw UsageError(fmt::format("--roster: row {} gives submission '{}' the id '{}' of submission '{}'",
                                   i + 1, rows[i][submission], rows[i][id], other->second));
  }
  return ids;
}

}  // namespace course::program::grader
