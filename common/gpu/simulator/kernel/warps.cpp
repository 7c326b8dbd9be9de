#include "gpu/simulator/kernel/warps.hpp"

#include <algorithm>
#include <cstring>

namespace course::gpu {

const char* name_of(WarpCall call) {
  static constexpr const char* names[] = {"__shfl_sync",     "__shfl_up_sync", "__shfl_down_sync",
                                          "__shfl_xor_sync", "__ballot_sync",  "__any_sync",
                                          "__all_sync",      "__syncwarp"};
  return names[static_cast<int>(call)];
}

bool is_shuffle(WarpCall call) {
  return call <= WarpCall::ShuffleXor;
}

unsigned source_lane(const WarpMeeting& meeting, unsigned lane) {
  const unsigned width = static_cast<unsigned>(meeting.width);
  const unsigned first = lane / width * width;
  const unsigned argument = static_cast<unsigned>(meeting.argument);
  if (meeting.call == WarpCall::Shuffle) return first + argument % width;
  const unsigned source = meeting.call == WarpCall::ShuffleUp     ? lane - argument
                          : meeting.call == WarpCall::ShuffleDown ? lane + argument
                                                                  : lane ^ argument;
  const bool is_before = meeting.call == WarpCall::ShuffleUp && argument > lane - first;
  return is_before || source >= first + width ? lane : source;
}

std::uint64_t vote(WarpCall call, std::uint32_t lanes, std::uint32_t ayes) {
  if (call == WarpCall::Ballot) return ayes;
  return call == WarpCall::Any ? ayes != 0 : ayes == lanes;
}

void LaneClocks::join(std::uint32_t lanes) {
  std::uint16_t joined[warp_lanes] = {};
  each_lane(lanes, [&](unsigned lane) {
    for (unsigned other = 0; other < warp_lanes; ++other)
      joined[other] = std::max(joined[other], known_[lane][other]);
    joined[lane] = static_cast<std::uint16_t>(tick(lane) + 1);
  });
  each_lane(lanes, [&](unsigned lane) { std::memcpy(known_[lane], joined, sizeof joined); });
}

void LaneClocks::clear() {
  std::memset(known_, 0, sizeof known_);
}

}  // namespace course::gpu
