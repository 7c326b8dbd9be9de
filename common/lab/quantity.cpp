#include "lab/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "protocol/errors.hpp"

namespace course::lab {

namespace {

struct Range {
  double least, most;
  std::map<std::string, double> units;  ///< in small letters
  std::string expected;
};

/// A finite number with its unit.
double parse(const std::string& option, const std::string& text, const Range& range) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  std::string unit(stop, end);
  std::ranges::transform(unit, unit.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (error == std::errc() && range.units.contains(unit)) {
    value *= range.units.at(unit);
    if (value >= range.least && value <= range.most) return value;
  }
  throw UsageError(fmt::format("{} {}: expected a number and {}", option, text, range.expected));
}

}  // namespace

double parse_bandwidth(const std::string& option, const std::string& text) {
  return parse(
      option, text,
      {100e6,
       100e9,
       {{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}, {"kbit/s", 1e3}, {"mbit/s", 1e6}, {"gbit/s", 1e9}},
       "Mbit or Gbit, from 100 Mbit/s to 100 Gbit/s"});
}

double parse_latency(const std::string& option, const std::string& text) {
  return parse(option, text,
               {0, 0.1, {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}, "us, ms or s, from 0ms to 100ms"});
}

std::string format_bandwidth(double bits_per_s) {
  if (bits_per_s >= 1e9) return fmt::format("{:.4g} Gbit/s", bits_per_s / 1e9);
  return fmt::format("{:.4g} Mbit/s", bits_per_s / 1e6);
}

}  // namespace course::lab
