#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace course::program::grader {

/// The rows of a CSV text. A field in quotes may hold commas, line breaks and doubled quotes. Throws
/// std::invalid_argument for a quote that is left open.
std::vector<std::vector<std::string>> csv_rows(const std::string& text);

/// A field for a CSV file; a spreadsheet takes a text that begins with = + - @, a tab or a
/// carriage return for a formula.
std::string csv_field(const std::string& text);

/// The ids of students by the names of their submissions, from a CSV file with the columns submission and id
/// and perhaps others, in UTF-8. Blanks at the ends of cells and rows of empty cells do not count. Throws
/// UsageError naming the row and what is wrong with it, as where two submissions have one id, or a submission
/// is no folder's name.
std::map<std::string, std::string> read_roster(const std::filesystem::path& file);

}  // namespace course::program::grader
