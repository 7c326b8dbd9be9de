#pragma once

#include <algorithm>

#include "timed/extents.hpp"

/// When does a ring's communication hide behind its computation, and how long does the ring take? Lesson 08
/// derives it; here it is as functions of numbers, without a clock.
namespace course::lab {

/// Bytes that a rank sends in one hop: K and V of its shard, 8 c d a head in float32.
inline double hop_bytes(const timed::Extents& work) {
  return 2.0 * sizeof(float) * static_cast<double>(work.tokens * work.heads * work.head_dim);
}

/// The tokens a rank at which a block of work takes `work_over_transfer` times as long as a hop:
/// 4 c^2 d / F = x * 8 c d / B, so c = 2 x F / B. With x = 1 this is where transfers begin to hide
/// (c = F / B in bf16: Liu et al. 2023), with x = 2 it is 4 F / B.
/// @param flops F, operations a second that one rank achieves while all compute
/// @param bytes_per_s B, one rank's own share of the link, one way
inline double tokens_for(double work_over_transfer, double flops, double bytes_per_s) {
  return 2 * work_over_transfer * flops / bytes_per_s;
}

/// What a ring is made of, measured or computed, in seconds.
struct RingParts {
  int ranks = 2;
  double work_s = 0;      ///< one block
  double transfer_s = 0;  ///< one hop
};

/// P blocks and nothing else.
inline double compute_alone_s(const RingParts& ring) {
  return ring.ranks * ring.work_s;
}

/// P blocks and P - 1 hops, one after the other.
inline double blocking_s(const RingParts& ring) {
  return compute_alone_s(ring) + (ring.ranks - 1) * ring.transfer_s;
}

/// The first block hides the first hop, and so on; the last block has no hop to hide: (P - 1) max(W, T) + W.
inline double overlapped_s(const RingParts& ring) {
  return (ring.ranks - 1) * std::max(ring.work_s, ring.transfer_s) + ring.work_s;
}

/// How often the laboratory measures F and B before it begins, and plays its rings at the least.
inline constexpr int speed_calls = 9, least_rounds = 3;
inline constexpr double longest_setting_s = 300;  ///< what would take longer is not begun

/// One round: the computation alone, the hops alone of both rings, and three rings.
inline double round_s(const RingParts& ring) {
  const double alone_s = compute_alone_s(ring) + 2 * (ring.ranks - 1) * ring.transfer_s;
  return alone_s + 2 * blocking_s(ring) + overlapped_s(ring);
}

/// What the laboratory takes for one such ring at the least: the measurements of F and B, then rounds.
inline double setting_s(const RingParts& ring) {
  return speed_calls * blocking_s(ring) + least_rounds * round_s(ring);
}

}  // namespace course::lab
