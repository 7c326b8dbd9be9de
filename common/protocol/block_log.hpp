#pragma once

#include <bit>
#include <cstdint>

#include "tensor/tensor.hpp"

/// What the player writes down of every block that was attended to, as one row of the output `log` [calls,
/// 4]: the owner that was named, the number of keys, and fingerprints of the keys and of the values. The
/// judge, which knows everybody's shards, compares; the player never learns what another rank's data should
/// be.
namespace block_log {

using course::Index;

inline constexpr const char* output = "log";

struct Entry {
  float owner;
  float keys;
  float k;  ///< fingerprint
  float v;  ///< fingerprint
};

inline constexpr Index columns = 4;

/// Beside it, of a function whose block computation has a mask, the output [calls, 1]: the number of scores
/// in each block that its queries see, of one head.
inline constexpr const char* scores_output = "scores";

/// Beside it, of a function whose block computation adds to dK and dV, the output [calls, leftover_columns]:
/// a number that the call was given in them and that an earlier call, for another block, had left there.
inline constexpr const char* leftover_output = "leftover";

struct Leftover {
  Index tensor = -1;  ///< 0: dK, 1: dV, -1: none was left
  Index head = 0, row = 0, col = 0;
  Index owner = 0;  ///< of the earlier block, as the function named it
};

inline constexpr Index leftover_columns = 5;

/// Chris Wellons's lowbias32, https://github.com/skeeto/hash-prospector: every bit of x changes half of the
/// others.
inline std::uint32_t mix(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

/// A 24-bit hash of the values' bits and places, which a float32 holds exactly. Equal tensors have equal
/// fingerprints; different ones share one once in sixteen million. A sum, so that a language of arrays
/// computes it as fast as C++ does.
inline float fingerprint(course::HeadsView<const float> x) {
  std::uint32_t sum = 0;
  std::uint32_t place = 0;
  for (course::Index head = 0; head < x.heads(); ++head) {
    for (course::Index row = 0; row < x.seq(); ++row) {
      for (const float value : x.head(head).row(row))
        sum += mix(std::bit_cast<std::uint32_t>(value) + ++place * 0x9e3779b9u);
    }
  }
  return static_cast<float>(sum >> 8);
}

}  // namespace block_log
