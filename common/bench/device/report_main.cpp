#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "bench/rows.hpp"
#include "protocol/errors.hpp"
#include "text/text_file.hpp"

namespace course::bench {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Seconds and exit codes; "cut off" is none.
bool is_number(const std::string& column, const std::string& cell) {
  const bool may_be = column == "limit_s" || column == "seconds" || column == "exit_code";
  return may_be && !cell.empty() && cell.size() < 9 &&
         cell.find_first_not_of("0123456789") == std::string::npos;
}

/// A file's lines, with the cells that tabs part by these names; nothing where there is no file.
Json lines_of_table(const fs::path& file, const std::vector<std::string>& columns) {
  Json lines = Json::array();
  if (!fs::exists(file)) return lines;
  for (const std::string& line : lines_of(read_text(file))) {
    std::istringstream cells(line);
    Json& one = lines.emplace_back(Json::object());
    for (const std::string& column : columns) {
      std::string cell;
      std::getline(cells, cell, '\t');
      one[column] = is_number(column, cell) ? Json(std::stoi(cell)) : Json(cell);
    }
  }
  return lines;
}

/// In the order in which they were written, which is that of the run.
std::vector<fs::path> rows_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().string().ends_with(".rows.json")) files.push_back(entry.path());
  std::ranges::sort(files, {},
                    [](const fs::path& file) { return std::pair(fs::last_write_time(file), file); });
  return files;
}

/// All that a folder has: steps and checks, and the rows of all benches, each of which says where it is from.
Json report_of(const fs::path& folder) {
  Json report{
      {"steps", lines_of_table(folder / "steps.tsv", {"name", "limit_s", "seconds", "exit_code"})},
      {"checks", lines_of_table(folder / "checks.tsv", {"what", "lesson", "answer", "by", "outcome"})},
      {"benches", Json::array()},
      {"rows", Json::array()}};
  for (const fs::path& file : rows_files(folder)) {
    Json bench = Json::parse(read_text(file));
    const std::string name = file.stem().stem();
    for (Json row : bench.at("rows")) {
      row["bench"] = name;
      report["rows"].push_back(std::move(row));
    }
    bench.erase("rows");
    bench["bench"] = name;
    report["benches"].push_back(std::move(bench));
  }
  return report;
}

/// The same for a person.
std::string text_of(const fs::path& folder) {
  const Json report = report_of(folder);
  const auto text = [](const Json& one, const char* name) {
    const Json& value = one.at(name);
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  std::string page;
  for (const Json& step : report.at("steps"))
    page += "step " + text(step, "name") + ": exit " + text(step, "exit_code") + ", " +
            text(step, "seconds") + " s of " + text(step, "limit_s") + "\n";
  for (const Json& check : report.at("checks"))
    page += text(check, "what") + ": lesson " + text(check, "lesson") + ", " + text(check, "answer") + ": " +
            text(check, "outcome") + "\n";
  for (const fs::path& file : rows_files(folder)) page += "\n" + table_text(rows_in(read_text(file)));
  return page;
}

}  // namespace

}  // namespace course::bench

/// device_report [--table] FOLDER: what a run has left there, on stdout, as JSON or as a page.
int main(int argc, char** argv) {
  try {
    const bool table = argc == 3 && std::string(argv[1]) == "--table";
    if (argc != 2 + table) throw std::invalid_argument("usage: device_report [--table] FOLDER");
    const std::filesystem::path folder = argv[argc - 1];
    const std::string text = table ? course::bench::text_of(folder)
                                   : course::bench::report_of(folder).dump(
                                         2, ' ', false, nlohmann::json::error_handler_t::replace) +
                                         "\n";
    std::fputs(text.c_str(), stdout);
    return course::succeeded;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "device_report: %s\n", error.what());
    return course::wrong_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "device_report: %s\n", error.what());
    return course::failed;
  }
}
