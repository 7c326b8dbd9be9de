#include "bench/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace course::bench {

namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

/// "95 %", and of what is small "0.31 %".
std::string percent(double ratio) {
  return ratio < 0.1 ? fmt::format("{:.2g} %", 100 * ratio) : fmt::format("{:.0f} %", 100 * ratio);
}

std::string ratio_cells(const Row& row) {
  if (!row.ratio) return "";
  std::string text = fmt::format("  {:>7} of {}", percent(*row.ratio), row.against);
  if (row.bound) text += fmt::format(", bound {}", percent(*row.bound));
  if (row.bound && *row.ratio < *row.bound) text += ": below";
  return row.published.empty() ? text : text + "; published: " + row.published;
}

}  // namespace

std::vector<Row> with_rates(std::vector<Row> rows, const std::map<std::string, double>& rates) {
  std::erase_if(rows, [&](const Row& row) {
    return !rates.contains(row.name) || !(row.against.empty() || rates.contains(row.against));
  });
  for (Row& row : rows) {
    row.rate = rates.at(row.name);
    if (!row.against.empty()) row.ratio = row.rate / rates.at(row.against);
  }
  return rows;
}

std::string table_text(const std::vector<Row>& rows) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  std::string text;
  for (const Row& row : rows)
    text += fmt::format("{:<{}}  {:7.1f} GFLOP/s{}\n", row.name, width, row.rate, ratio_cells(row));
  return text;
}

std::string rows_json(const std::vector<Row>& rows) {
  Json all = Json::array();
  for (const Row& row : rows) {
    Json& one = all.emplace_back(Json{{"name", row.name},
                                      {"value", row.rate},
                                      {"unit", "GFLOP/s"},
                                      {"against", row.against.empty() ? Json() : Json(row.against)},
                                      {"ratio", or_null(row.ratio)},
                                      {"bound", or_null(row.bound)}});
    if (!row.published.empty()) one["published"] = row.published;
  }
  return Json{{"rows", all}}.dump(2) + "\n";
}

}  // namespace course::bench
