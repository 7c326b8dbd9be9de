#pragma once

#include <string>

/// Quantities as people write them on a command line.
namespace course::lab {

inline constexpr double least_bandwidth = 100e6;    ///< bits a second: below, a hidden hop takes too long
inline constexpr double largest_bandwidth = 100e9;  ///< bits a second
inline constexpr double longest_latency_s = 0.1;

/// "500Mbit", "2Gbit/s" or "1.5gbit" in bits a second. Throws std::invalid_argument with one line that says
/// what was expected, also outside the limits above.
double parse_bandwidth(const std::string& text);

/// "200us", "2ms" or "0.01s" in seconds, one way; 0 is "0ms". Throws as above.
double parse_latency(const std::string& text);

/// "500 Mbit/s"
std::string format_bandwidth(double bits_per_s);

}  // namespace course::lab
