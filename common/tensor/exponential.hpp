#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace course {

/// 2^e for -126 <= e <= 128, of which the last is infinite.
inline float power_of_two(float e) {
  // e = n + f, n an integer and |f| <= 1/2. A float near 1.5 * 2^23 has no digits after the point, so that
  // adding this number rounds e, and leaves n + 127 in the last bits.
  constexpr float rounding = 12582912.0f + 127.0f;
  const float rounded = e + rounding;
  const float f = e - (rounded - rounding);
  // The polynomial of degree 6 that is relatively closest to 2^f: 1.9e-9 off. The coefficients are fitted.
  constexpr float c[] = {1.0f,          0.69314718f,    0.24022646f,   0.055503286f,
                         0.0096184891f, 0.00133999309f, 0.00015345811f};
  const float power = c[0] + f * (c[1] + f * (c[2] + f * (c[3] + f * (c[4] + f * (c[5] + f * c[6])))));
  // From bit 23 on a float keeps its exponent, plus 127.
  return power * std::bit_cast<float>(std::bit_cast<std::uint32_t>(rounded) << 23);
}

inline constexpr float log2_e = 1.44269504f;
inline constexpr float least_exponent = -126.0f;
inline constexpr float infinite_exponent = 128.0f;

/// e^x without a branch or a call, so that a loop over it becomes vector instructions. Less than -87.33
/// counts as -87.33, whose power is 1.2e-38; from 88.4 on it is infinite. The error is at most (|x| + 2)
/// 2^-23 of the result, so that for x <= 0, as a softmax has it, it is under 3e-7 of e^0. NaN stays NaN.
inline float exponential(float x) {
  return power_of_two(std::min(std::max(x * log2_e, least_exponent), infinite_exponent));
}

/// Replaces each x of a row by exponential(x - shift). Returns the sum of the row then.
inline float exponentiate(std::span<float> row, float shift) {
  // As many numbers at a time as a register holds, for which -O2 needs no loop, and a sum for each of them.
  // The steps are apart, since g++ 12 makes worse code of both bounds at once. clang++ 14 keeps to 8 where
  // there are 16.
#if defined(__AVX512F__) && !defined(__clang__)
  constexpr std::size_t lanes = 16;
#elif defined(__AVX2__)
  constexpr std::size_t lanes = 8;
#else
  constexpr std::size_t lanes = 4;
#endif
  std::array<float, lanes> sums{};
  std::array<float, lanes> e;
  std::size_t i = 0;
  for (; i + lanes <= row.size(); i += lanes) {
    float* const x = row.data() + i;
    for (std::size_t lane = 0; lane < lanes; ++lane)
      e[lane] = std::max((x[lane] - shift) * log2_e, least_exponent);
    for (std::size_t lane = 0; lane < lanes; ++lane) e[lane] = std::min(e[lane], infinite_exponent);
    for (std::size_t lane = 0; lane < lanes; ++lane) x[lane] = power_of_two(e[lane]);
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += x[lane];
  }
  float sum = 0.0f;
  for (const float lane : sums) sum += lane;
  for (float& x : row.subspan(i)) sum += x = exponential(x - shift);
  return sum;
}

}  // namespace course
