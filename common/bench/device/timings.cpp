#include "bench/device/timings.hpp"

#include <stdexcept>

#include "text/text_file.hpp"

namespace course::bench::device {

namespace {

constexpr double most_error = 1e-3;

}  // namespace

void Timings::add(Row row, double rate) {
  rates_[row.name] = rate;
  if (simulated_) row.unit += " (simulated, not measured)";
  rows_.push_back(std::move(row));
  if (!file_.empty()) write_text(file_, rows_json(rows(), about_));
}

void require_right(const std::string& name, double relative_error) {
  if (relative_error <= most_error) return;  // not so of NaN
  throw WrongAnswer(name + ": the answer's relative error is " + std::to_string(relative_error) +
                    ", expected 0.001 at most");
}

}  // namespace course::bench::device
