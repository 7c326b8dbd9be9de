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

/// A 24-bit hash (FNV-1a over the bits of the values), which a float32 holds exactly. Equal tensors have
/// equal fingerprints; different ones share one once in sixteen million.
inline float fingerprint(course::HeadsView<const float> x) {
  std::uint32_t hash = 2166136261u;
  for (const float value : std::span(x.data(), static_cast<std::size_t>(x.size()))) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 16777619u;
    hash ^= hash >> 15;
  }
  return static_cast<float>(hash >> 8);
}

}  // namespace block_log
