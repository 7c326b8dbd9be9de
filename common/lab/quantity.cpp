#include "lab/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <stdexcept>

namespace course::lab {

namespace {

struct Number {
  double value;
  std::string unit;  ///< what follows it, in small letters
};

/// Throws std::invalid_argument with `expected` unless `text` begins with a finite number.
Number split(const std::string& text, const std::string& expected) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc()) throw std::invalid_argument(text + ": " + expected);
  std::string unit(stop, end);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return {value, unit};
}

double in_units(const std::string& text, const std::map<std::string, double>& units,
                const std::string& expected) {
  const Number number = split(text, expected);
  const auto unit = units.find(number.unit);
  if (unit == units.end()) throw std::invalid_argument(text + ": " + expected);
  return number.value * unit->second;
}

}  // namespace

double parse_bandwidth(const std::string& text) {
  const std::string expected =
      fmt::format("expected a number and Mbit or Gbit, from {} to {}", format_bandwidth(least_bandwidth),
                  format_bandwidth(largest_bandwidth));
  static const std::map<std::string, double> units{{"kbit", 1e3},   {"mbit", 1e6},   {"gbit", 1e9},
                                                   {"kbit/s", 1e3}, {"mbit/s", 1e6}, {"gbit/s", 1e9}};
  const double bandwidth = in_units(text, units, expected);
  if (bandwidth >= least_bandwidth && bandwidth <= largest_bandwidth) return bandwidth;
  throw std::invalid_argument(text + ": " + expected);
}

double parse_latency(const std::string& text) {
  const std::string expected = "expected a number and us, ms or s, from 0ms to 100ms";
  static const std::map<std::string, double> units{{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  const double latency = in_units(text, units, expected);
  if (latency >= 0 && latency <= longest_latency_s) return latency;
  throw std::invalid_argument(text + ": " + expected);
}

std::string format_bandwidth(double bits_per_s) {
  if (bits_per_s >= 1e9) return fmt::format("{:.4g} Gbit/s", bits_per_s / 1e9);
  return fmt::format("{:.4g} Mbit/s", bits_per_s / 1e6);
}

}  // namespace course::lab
