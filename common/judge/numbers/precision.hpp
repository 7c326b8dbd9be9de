#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace course {

/// A format of binary floating-point numbers.
struct Precision {
  const char* name;
  int bits;            ///< of the significand, the leading 1 included
  int least_exponent;  ///< of a normal number; smaller numbers keep its spacing
  double largest;
};

/// Source: IEEE 754-2019, binary16.
inline constexpr Precision float16{"float16", 11, -14, 65504};
/// The upper half of a float32, whose largest number is (2 - 2^-7) 2^127.
inline constexpr Precision bfloat16{"bfloat16", 8, -126, 0x1.fep127};

/// The distance between numbers of that format next to x, which is finite.
inline double spacing(const Precision& precision, double x) {
  const int exponent = x == 0 ? precision.least_exponent : std::max(std::ilogb(x), precision.least_exponent);
  return std::ldexp(1.0, exponent - (precision.bits - 1));
}

/// The nearest number of that format, of two the one with an even last digit; infinite past the largest. NaN
/// and infinities stay what they are.
inline double rounded_to(const Precision& precision, double x) {
  if (!std::isfinite(x)) return x;
  const double step = spacing(precision, x);
  const double rounded = std::nearbyint(x / step) * step;
  return std::abs(rounded) <= precision.largest ? rounded
                                                : std::copysign(std::numeric_limits<double>::infinity(), x);
}

}  // namespace course
