#include "grader/roster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"
#include "text/text_file.hpp"
#include "text/utf8.hpp"

namespace course::program::grader {

namespace {

constexpr const char* byte_order_mark = "\xEF\xBB\xBF";  // with which Excel begins a file

std::string without_blanks_at_ends(const std::string& cell) {
  const std::size_t first = cell.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return cell.substr(first, cell.find_last_not_of(" \t") - first + 1);
}

/// Throws std::invalid_argument naming the first line that is not UTF-8.
void require_utf8(const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  const auto wrong = std::ranges::find_if_not(lines, is_utf8);
  if (wrong != lines.end())
    throw std::invalid_argument(
        fmt::format("line {} is not UTF-8: save it as UTF-8", wrong - lines.begin() + 1));
}

/// The rows of a roster, without blanks at the ends of cells.
std::vector<std::vector<std::string>> roster_rows(const std::filesystem::path& file) {
  std::string text = read_text(file);
  if (text.starts_with(byte_order_mark)) text.erase(0, 3);
  require_utf8(text);
  std::vector<std::vector<std::string>> rows = csv_rows(text);
  for (std::vector<std::string>& row : rows) std::ranges::transform(row, row.begin(), without_blanks_at_ends);
  return rows;
}

/// Whether a submission's folder may have the name.
bool is_plain(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

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
    rows = roster_rows(file);
  } catch (const std::exception& error) {
    throw UsageError(fmt::format("--roster: {}: {}", file.string(), error.what()));
  }
  if (rows.empty()) throw UsageError("--roster: " + file.string() + " is empty");
  const std::size_t submission = column(rows.front(), "submission"), id = column(rows.front(), "id");
  std::map<std::string, std::string> ids, submissions;  // by id
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (std::ranges::all_of(rows[i], &std::string::empty)) continue;  // as spreadsheets save an empty row
    if (rows[i].size() != rows.front().size())
      throw UsageError(fmt::format("--roster: row {}, '{}', has {} fields, expected {}", i + 1,
                                   joined(rows[i], {}, ","), rows[i].size(), rows.front().size()));
    if (!is_plain(rows[i][submission]))
      throw UsageError(
          fmt::format("--roster: row {} has submission '{}', expected the name of a folder among the "
                      "submissions",
                      i + 1, rows[i][submission]));
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
