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

std::string percent(double ratio) {
  return fmt::format("{:.0f} %", 100 * ratio);
}

std::string ratio_cells(const Row& row) {
  if (!row.ratio) return "";
  std::string text = fmt::format("  {:>7} of {}", percent(*row.ratio), row.against);
  if (!row.bound) return text;
  text += fmt::format(", bound {}", percent(*row.bound));
  return *row.ratio < *row.bound ? text + ": below" : text;
}

}  // namespace

std::vector<Row> rows_of(const std::vector<Comparison>& comparisons,
                         const std::map<std::string, double>& rates) {
  std::vector<Row> rows;
  for (const Comparison& comparison : comparisons) {
    const auto own = rates.find(comparison.name);
    if (own == rates.end()) continue;
    Row row{comparison.name, own->second, "GFLOP/s", "", {}, {}};
    if (!comparison.against.empty()) {
      const auto other = rates.find(comparison.against);
      if (other == rates.end()) continue;
      row.against = comparison.against;
      row.ratio = own->second / other->second;
      row.bound = comparison.bound;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string table_text(const std::vector<Row>& rows) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  std::string text;
  for (const Row& row : rows)
    text += fmt::format("{:<{}}  {:7.1f} {}{}\n", row.name, width, row.value, row.unit, ratio_cells(row));
  return text;
}

std::string rows_json(const std::vector<Row>& rows) {
  Json all = Json::array();
  for (const Row& row : rows) {
    all.push_back({{"name", row.name},
                   {"value", row.value},
                   {"unit", row.unit},
                   {"against", row.against.empty() ? Json() : Json(row.against)},
                   {"ratio", or_null(row.ratio)},
                   {"bound", or_null(row.bound)}});
  }
  return Json{{"rows", all}}.dump(2) + "\n";
}

}  // namespace course::bench
