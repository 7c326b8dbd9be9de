#pragma once

#include <string>

/// Quantities as people write them on a command line.
namespace course::lab {

/// "500Mbit", "2Gbit/s" or "1.5gbit" in bits a second, from 100 Mbit/s, below which a hidden hop takes too
/// long, to 100 Gbit/s. Throws UsageError with one line that says what was expected of `option`.
double parse_bandwidth(const std::string& option, const std::string& text);

/// "200us", "2ms" or "0.01s" in seconds, one way, up to 100ms; 0 is "0ms". Throws as above.
double parse_latency(const std::string& option, const std::string& text);

/// "500 Mbit/s"
std::string format_bandwidth(double bits_per_s);

}  // namespace course::lab
