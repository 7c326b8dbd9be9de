#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace course::bench {

/// A line of the table: what was timed, and what it is held against. Both are names; `bound` is the least
/// ratio of their rates that the course sets itself, if any. Without `against` only the rate is shown.
struct Row {
  std::string name;
  std::string against = {};
  std::optional<double> bound = {};
  std::string published = {};  ///< what others report of such a ratio, and where
  std::string unit = "GFLOP/s";
  std::optional<std::int64_t> bytes_sent = {};  ///< of a rank, by the formulas
  std::string limited_by = {};                  ///< why it is no faster, if that is known
  double rate = 0;                              ///< in that unit
  std::optional<double> ratio = {};             ///< over that of `against`
};

/// The rows of which everything was timed, with their rates, which are given by name.
std::vector<Row> with_rates(std::vector<Row> rows, const std::map<std::string, double>& rates);

/// Each on a line, the ratio and its bound in percent; a ratio that is below its bound says so. What limits a
/// row is on a line below it.
std::string table_text(const std::vector<Row>& rows);

/// {"rows": [{name, value, unit, against, ratio, bound}]}; what a row does not have is null, and what limits
/// it is there where it is known.
/// @param about texts by name, which come before the rows
std::string rows_json(const std::vector<Row>& rows,
                      const std::vector<std::pair<std::string, std::string>>& about = {});

/// The rows of such a text, as they were. Throws nlohmann's exception where it is none.
std::vector<Row> rows_in(const std::string& json);

}  // namespace course::bench
