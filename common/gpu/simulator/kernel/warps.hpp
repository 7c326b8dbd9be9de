#pragma once

#include <bit>
#include <cstdint>

#include "gpu/simulator/kernel/kernel_side.hpp"

/// What lanes of a warp do together. Source: PTX ISA 9, shfl.sync, vote.sync, bar.warp.sync.
namespace course::gpu {

inline constexpr unsigned warp_lanes = 32;

/// A lane's part in it.
struct WarpMeeting {
  WarpCall call = WarpCall::SyncWarp;
  unsigned mask = 0;
  std::uint64_t value = 0;
  int argument = 0;
  int width = static_cast<int>(warp_lanes);
  int line = 0;
};

/// "__shfl_xor_sync"
const char* name_of(WarpCall call);
bool is_shuffle(WarpCall call);

/// The lane whose value a shuffle gives to `lane`.
unsigned source_lane(const WarpMeeting& meeting, unsigned lane);
/// What a vote of these lanes gives to each; `ayes` are those whose value is not 0. A bit each.
std::uint64_t vote(WarpCall call, std::uint32_t lanes, std::uint32_t ayes);

/// The lanes that wait in one call with one mask.
struct WarpGroup {
  WarpCall call;
  unsigned mask;
  std::uint32_t lanes;  ///< a bit each
};

/// Calls `use` for each lane of a mask, the lowest first.
template <class Use>
void each_lane(std::uint32_t lanes, const Use& use) {
  for (; lanes != 0; lanes &= lanes - 1) use(static_cast<unsigned>(std::countr_zero(lanes)));
}

/// How far each lane of a warp has come since the last barrier of the block, as each lane knows.
class LaneClocks {
 public:
  /// Those of one lane; its own is its tick.
  const std::uint16_t* of(unsigned lane) const { return known_[lane]; }
  std::uint16_t tick(unsigned lane) const { return known_[lane][lane]; }
  void join(std::uint32_t lanes);
  void clear();

 private:
  std::uint16_t known_[warp_lanes][warp_lanes] = {};
};

}  // namespace course::gpu
