#include "judge/numbers/origin.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "protocol/poison.hpp"

namespace course {

namespace {

constexpr std::uint64_t sign = 0x8000'0000'0000'0000;

/// NaNs of float64. That of what was never written signals as in float32: arithmetic, a known mistake's too,
/// makes that of what was computed from it.
constexpr std::uint64_t bits_of(Origin origin) {
  switch (origin) {
    case Origin::NeverWritten:
      return 0x7ff4'0000'0000'0f11;
    case Origin::FromUnwritten:
      return 0x7ffc'0000'0000'0f11;
    case Origin::FromOpenReceive:
      return 0x7ff8'0000'0000'0f12;
    case Origin::FromDevice:
      return 0x7ff8'0000'0000'0f13;
    default:
      return 0x7ff8'0000'0000'0000;
  }
}

double nan_of(Origin origin) {
  return std::bit_cast<double>(bits_of(origin));
}

}  // namespace

double entry_of(float returned) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(returned) & ~poison::sign;
  if (bits == poison::output) return nan_of(Origin::NeverWritten);
  if (bits == (poison::output | poison::quiet)) return nan_of(Origin::FromUnwritten);
  if ((bits | poison::quiet) == (poison::device | poison::quiet)) return nan_of(Origin::FromDevice);
  if ((bits | poison::quiet) == (poison::open_receive | poison::quiet))
    return nan_of(Origin::FromOpenReceive);
  return returned;
}

Origin origin_of(double entry) {
  if (!std::isnan(entry)) return Origin::Number;
  for (const Origin origin :
       {Origin::NeverWritten, Origin::FromUnwritten, Origin::FromOpenReceive, Origin::FromDevice}) {
    if ((std::bit_cast<std::uint64_t>(entry) & ~sign) == bits_of(origin)) return origin;
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
    case Origin::FromDevice:
      return "is nan, taken from device or shared memory that nobody had written to, or from a lane that was "
             "not there";
    default:
      return fmt::format("is {:.6g}", std::isnan(entry) ? std::abs(entry) : entry);  // not "-nan"
  }
}

}  // namespace course
