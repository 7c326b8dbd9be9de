#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace course::bench {

/// A line of the table: what was timed, and what it is held against. Both are names; `bound` is the least
/// ratio of their rates that the course sets itself, if any. Without `against` only the rate is shown.
struct Row {
  std::string name;
  std::string against = {};
  std::optional<double> bound = {};
  std::string published = {};        ///< what others report of such a ratio, and where
  double rate = 0;                   ///< GFLOP/s
  std::optional<double> ratio = {};  ///< over that of `against`
};

/// The rows of which everything was timed, with their rates, which are given by name.
std::vector<Row> with_rates(std::vector<Row> rows, const std::map<std::string, double>& rates);

/// Each on a line, the ratio and its bound in percent; a ratio that is below its bound says so.
std::string table_text(const std::vector<Row>& rows);

/// {"rows": [{name, value, unit, against, ratio, bound}]}; what a row does not have is null.
std::string rows_json(const std::vector<Row>& rows);

}  // namespace course::bench
