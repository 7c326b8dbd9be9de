#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/simulator/host/operations.hpp"

/// Whether accesses to the same bytes are ordered. Two of them race if at least one writes, nothing orders
/// them, and they are not both atomic, of one extent, with scopes that cover each other. For each word, or
/// byte where a word was accessed in parts, the last write and every unordered reader and atomic since are
/// kept. What orders two accesses: different operations, their clocks; different blocks of a launch, nothing;
/// threads of a block, a barrier between them; lanes of a warp, __syncwarp over both. Source: PTX ISA 9,
/// memory consistency model; Flanagan and Freund 2009 (FastTrack), whose epochs these are.
namespace course::gpu {

enum class AccessKind : std::uint8_t {
  Read,
  Write,
  Atomic,
  BlockAtomic,
  Lifetime
};  // a stream's malloc, free

/// An access by one lane, or equal ones by several lanes of a warp.
struct Access {
  std::uint64_t site = 0;         ///< the instruction, or 0: the operation is no kernel
  OperationNumber operation = 0;  ///< 0: there is no access
  std::uint32_t block = 0;        ///< of the grid
  std::uint32_t phase = 0;        ///< barriers that the block has passed
  std::uint32_t lanes = 1;        ///< a bit each
  std::uint16_t warp = 0;         ///< of the block
  std::uint16_t tick = 0;         ///< of the lane: its calls of __syncwarp since the last barrier
  std::uint8_t bytes = 0;
  AccessKind kind = AccessKind::Read;
  bool mark = false;  ///< for who keeps it
};

/// The number of no crowd.
inline constexpr std::uint32_t no_crowd = ~std::uint32_t{0};

/// What runs now. Who runs sets it; an access takes it as it is, and adds the site, the extent and the kind.
struct Now {
  bool checked = false;  ///< accesses are looked at
  bool counted = false;  ///< and counted
  bool in_kernel = false;
  bool has_pending_race = false;
  OperationNumber surely_before = 0;  ///< one that has been found to happen before this operation
  std::uint64_t resumes = 0;          ///< of threads, in all
  std::uint64_t accesses = 0;         ///< of the thread since it went on
  std::uint64_t accesses_of_kernel = 0;
  const void* arguments = nullptr;  ///< of the kernel, and of so many bytes
  std::size_t arguments_bytes = 0;
  const Clock* clock = nullptr;  ///< of the operation
  const std::uint16_t* ticks =
      nullptr;  ///< of the warp's lanes: what came before them happens before this lane's next
  Access access = {};
  std::uint32_t launch_crowd = no_crowd;  ///< of blocks of the launch
  std::uint32_t first_crowd = 0;          ///< of the block
  std::uint32_t block_crowd = no_crowd;   ///< of the block since its last barrier
  std::uint32_t warp_crowd = no_crowd;    ///< of the thread's warp since then; none after a __syncwarp
};
extern Now now;

/// Who reads has a number: a launch; and between two barriers a block, and behind it each of its warps. They
/// grow. Begins that of the launch that runs now.
void begin_launch_crowd();
/// Begins those of the block that runs now.
void begin_crowds(std::size_t warps);
/// The block has passed a barrier.
void next_crowds();
/// The number of a warp of the block since then.
inline std::uint32_t crowd_of_warp(std::uint32_t warp) {
  return now.block_crowd + 1 + warp;
}

/// What a thread may access without a pause, before it is taken to wait for somebody.
inline constexpr std::uint64_t most_accesses = std::uint64_t{1} << 22;

/// Enters an access to bytes of memory() that are in use, and notes what it races with.
void find_races(std::size_t offset, std::size_t bytes, const Access& access);
/// Notes a race that waits until it is seen whether both wrote the same value.
void tell_pending_race();
/// While `now` is still the case's, and before reset_memory(), which knows what there was.
void reset_races();

}  // namespace course::gpu
