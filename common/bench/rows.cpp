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
  for (const Row& row : rows) {
    const std::string sent =
        row.bytes_sent ? fmt::format("  {:8.3f} MB sent", static_cast<double>(*row.bytes_sent) / 1e6) : "";
    text +=
        fmt::format("{:<{}}  {:7.1f} {}{}{}\n", row.name, width, row.rate, row.unit, sent, ratio_cells(row));
    if (!row.limited_by.empty()) text += fmt::format("  limited by {}\n", row.limited_by);
  }
  return text;
}

std::string rows_json(const std::vector<Row>& rows,
                      const std::vector<std::pair<std::string, std::string>>& about) {
  Json report = Json::object();
  for (const auto& [name, value] : about) report[name] = value;
  Json& all = report["rows"] = Json::array();
  for (const Row& row : rows) {
    Json& one = all.emplace_back(Json{{"name", row.name},
                                      {"value", row.rate},
                                      {"unit", row.unit},
                                      {"against", row.against.empty() ? Json() : Json(row.against)},
                                      {"ratio", or_null(row.ratio)},
                                      {"bound", or_null(row.bound)}});
    if (row.bytes_sent) one["bytes_sent"] = *row.bytes_sent;
    if (!row.published.empty()) one["published"] = row.published;
    if (!row.limited_by.empty()) one["limited_by"] = row.limited_by;
  }
  return report.dump(2) + "\n";
}

std::vector<Row> rows_in(const std::string& json) {
  const auto text = [](const Json& one, const char* name) {
    const auto found = one.find(name);
    return found == one.end() || found->is_null() ? std::string() : found->get<std::string>();
  };
  const auto number = [](const Json& value) {
    return value.is_null() ? std::nullopt : std::optional(value.get<double>());
  };
  const auto bytes = [](const Json& one) {
    const auto found = one.find("bytes_sent");
    return found == one.end() ? std::nullopt : std::optional(found->get<std::int64_t>());
  };
  std::vector<Row> rows;
  const Json report = Json::parse(json);
  for (const Json& one : report.at("rows"))
    rows.push_back({.name = one.at("name"),
                    .against = text(one, "against"),
                    .bound = number(one.at("bound")),
                    .published = text(one, "published"),
                    .unit = one.at("unit"),
                    .bytes_sent = bytes(one),
                    .limited_by = text(one, "limited_by"),
                    .rate = one.at("value"),
                    .ratio = number(one.at("ratio"))});
  return rows;
}

}  // namespace course::bench
