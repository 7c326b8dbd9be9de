#pragma once

#include <bit>
#include <cstdint>

/// What memory holds before anybody has written to it: signalling NaNs in float32, one for each kind of
/// memory. A copy keeps them as they are, and arithmetic makes them quiet and keeps the rest, so that an
/// answer which holds one tells where it comes from. Source: IEEE 754-2019, 6.2.3.
namespace course::poison {

inline constexpr std::uint32_t output = 0x7fa0f111;        ///< a function's output
inline constexpr std::uint32_t open_receive = 0x7fa5a5a5;  ///< the buffer of a receive that is open
inline constexpr std::uint32_t device = 0x7fbadbad;        ///< memory of a simulated GPU
inline constexpr std::uint32_t quiet = 0x00400000;         ///< the bit that arithmetic sets
inline constexpr std::uint32_t sign = 0x80000000;

inline float unwritten_output() {
  return std::bit_cast<float>(output);
}

}  // namespace course::poison
