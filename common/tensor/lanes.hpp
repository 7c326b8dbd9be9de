#pragma once

#include <cstdint>
#include <cstring>

/// Float vectors as wide as a register of the machine that is compiled for: 16 lanes with AVX-512, 8 with
/// AVX, 4 elsewhere. They add, multiply and compare lane by lane; a sum of a product is one instruction where
/// the machine has one. GCC's and clang's vector extensions.
namespace course {

#if defined(__AVX512F__)
inline constexpr int lanes = 16;
#elif defined(__AVX__)
inline constexpr int lanes = 8;
#else
inline constexpr int lanes = 4;
#endif

using Lanes [[gnu::vector_size(4 * lanes)]] = float;
/// Unsigned: their sums wrap round as a register's do. A signed sum that does is undefined in C++.
using IntegerLanes [[gnu::vector_size(4 * lanes)]] = std::uint32_t;

/// From anywhere, aligned or not.
inline Lanes load(const float* from) {
  Lanes x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

inline void store(Lanes x, float* to) {
  std::memcpy(to, &x, sizeof x);
}

/// x in every lane. (x + Lanes{} would be an addition, since -0 + 0 is 0; the difference costs nothing.)
inline Lanes splat(float x) {
  return x - Lanes{};
}

/// b where a lane of a is NaN.
inline Lanes maximum(Lanes a, Lanes b) {
  return a > b ? a : b;
}

/// The bits of each lane, and back.
inline IntegerLanes as_integers(Lanes x) {
  return reinterpret_cast<IntegerLanes>(x);
}
inline Lanes as_floats(IntegerLanes x) {
  return reinterpret_cast<Lanes>(x);
}

/// splat(x), which the compiler takes for a variable: g++ 12 makes one instruction of the maximum of two
/// variables, and a comparison and a choice where one of them is a constant.
inline Lanes hidden(float x) {
  Lanes y = splat(x);
#if defined(__x86_64__)
  asm("" : "+x"(y));
#endif
  return y;
}

}  // namespace course
