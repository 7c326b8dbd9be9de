#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace course::bench {

/// What is held against what. Both are names of what was timed; `bound` is the least ratio of their rates
/// that the course sets itself, if any. Without `against` only the rate is shown.
struct Comparison {
  std::string name;
  std::string against = {};
  std::optional<double> bound = {};
};

/// A line of the table: a rate and how it compares with another of the same run.
struct Row {
  std::string name;
  double value;
  std::string unit;
  std::string against;          ///< empty: with nothing
  std::optional<double> ratio;  ///< value over that of `against`
  std::optional<double> bound;
};

/// The rows of those comparisons of which everything was timed, in their order. `rates` are in GFLOP/s.
std::vector<Row> rows_of(const std::vector<Comparison>& comparisons,
                         const std::map<std::string, double>& rates);

/// Each on a line, the ratio and its bound in percent; a ratio that is below its bound says so.
std::string table_text(const std::vector<Row>& rows);

/// {"rows": [{name, value, unit, against, ratio, bound}]}; what a row does not have is null.
std::string rows_json(const std::vector<Row>& rows);

}  // namespace course::bench
