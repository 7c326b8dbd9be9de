#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace course {

/// e^x without a branch or a call, so that a loop over it becomes vector instructions. Less than -87.33 counts as
/// -87.33, whose power is 1.2e-38; from 88.4 on it is infinite. The error is at most (|x| + 2) 2^-23 of the result: where
/// a softmax meets it, at x <= 0, never more than a few 1e-7 of the largest weight. NaN stays NaN.
inline float exponential(float x) {
  // x log2(e) = n + f, n an integer and |f| <= 1/2.
  constexpr float log2_e = 1.44269504f;
  const float exponent = std::min(std::max(x * log2_e, -126.0f), 128.0f);
  const float n = std::nearbyint(exponent);
  const float f = exponent - n;
  // The polynomial of degree 6 that is relatively closest to 2^f: 1.9e-9 off. The coefficients are fitted.
  constexpr float c[] = {1.0f,          0.69314718f,    0.24022646f,   0.055503286f,
                         0.0096184891f, 0.00133999309f, 0.00015345811f};
  const float power = c[0] + f * (c[1] + f * (c[2] + f * (c[3] + f * (c[4] + f * (c[5] + f * c[6])))));
  // Beside 1.5 * 2^23, whose last bit is worth 1, n + 127 is the last bits of a float; where a float keeps its
  // exponent, with 127 added, starts at bit 23.
  const auto bits = std::bit_cast<std::uint32_t>(n + 127.0f + 12582912.0f) << 23;
  return power * std::bit_cast<float>(bits);
}

/// Replaces each x of a row by exponential(x - shift).
inline void exponentiate(std::span<float> row, float shift) {
  // Of a fixed length, a loop is vectorised by -O2 as well.
  constexpr std::size_t chunk = 16;
  std::size_t i = 0;
  for (; i + chunk <= row.size(); i += chunk) {
    float* const x = row.data() + i;
    for (std::size_t lane = 0; lane < chunk; ++lane) x[lane] = exponential(x[lane] - shift);
  }
  for (; i < row.size(); ++i) row[i] = exponential(row[i] - shift);
}

}  // namespace course
