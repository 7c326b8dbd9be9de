#include "judge/numbers/origin.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "protocol/poison.hpp"

namespace course {

namespace {

/// Quiet NaNs of float64, one for each origin but the last.
constexpr std::uint64_t quiet_nan = 0x7ff8'0000'0000'0000;
constexpr std::uint64_t payload = 0x0f11'0000;

double nan_of(Origin origin) {
  return std::bit_cast<double>(quiet_nan | payload | static_cast<std::uint64_t>(origin));
}

}  // namespace

double entry_of(float returned) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(returned) & ~poison::sign;
  if (bits == poison::output) return nan_of(Origin::NeverWritten);
  if (bits == (poison::output | poison::quiet)) return nan_of(Origin::FromUnwritten);
  if ((bits | poison::quiet) == (poison::open_receive | poison::quiet))
    return nan_of(Origin::FromOpenReceive);
  return returned;
}

Origin origin_of(double entry) {
  if (!std::isnan(entry)) return Origin::Number;
  for (const Origin origin : {Origin::NeverWritten, Origin::FromUnwritten, Origin::FromOpenReceive}) {
    if (std::bit_cast<std::uint64_t>(entry) == std::bit_cast<std::uint64_t>(nan_of(origin))) return origin;
  }
  return Origin::Arithmetic;
}

double never_written() {
  return nan_of(Origin::NeverWritten);
}

std::string in_words(double entry) {
  switch (origin_of(entry)) {
    case Origin::NeverWritten:
      return "was never written";
    case Origin::FromUnwritten:
      return "is nan, computed from an entry that was never set";
    case Origin::FromOpenReceive:
      return "is nan, read while its receive was still open";
    default:
      return fmt::format("is {:.6g}", std::isnan(entry) ? std::abs(entry) : entry);  // not "-nan"
  }
}

}  // namespace course
