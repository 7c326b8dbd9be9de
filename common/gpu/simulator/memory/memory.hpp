#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "gpu/simulator/host/launches.hpp"
#include "gpu/simulator/host/operations.hpp"
#include "gpu/simulator/memory/arena.hpp"

/// The memory that a kernel can reach: the running block's shared memory, page-locked host memory, and device
/// memory. Addresses are never given out twice in a case, so that whoever uses freed memory is found.
namespace course::gpu {

enum class Region { Shared, Pinned, Device };

inline constexpr std::size_t shared_begin = 0;
inline constexpr std::size_t pinned_begin = std::size_t{1} << 20;
inline constexpr std::size_t device_begin = std::size_t{1} << 30;
inline constexpr std::size_t memory_bytes = device_begin + device_memory_bytes;

constexpr Region region_of(std::size_t offset) {
  return offset < pinned_begin ? Region::Shared : offset < device_begin ? Region::Pinned : Region::Device;
}
const char* name_of(Region region);
/// As facts have it (protocol/fact_kinds.hpp).
const char* mark_of(Region region);

/// What a case was given of device or pinned memory.
struct Allocation {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::string made = {};         ///< "cudaMalloc on line 12"
  std::string freed = {};        ///< "" while it is in use
  OperationNumber freed_by = 0;  ///< in stream order; 0: at once
};

extern Arena memory_arena;
extern Arena states_arena;
inline Arena& memory() {
  return memory_arena;
}
inline std::size_t offset_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(memory().base());
}

/// New memory, which holds poison; nullptr where there is none left.
std::byte* allocate(Region region, std::size_t bytes, std::string made);
/// The allocation, in use or freed, that begins last at or before this address; nullptr: there is none.
Allocation* allocation_before(const void* address);
/// The allocation in use that has all of these bytes.
Allocation* allocation_of(const void* address, std::size_t bytes);
/// From now on its bytes belong to nobody.
void free(Allocation& allocation, std::string freed, OperationNumber freed_by = 0);
/// The operation that has freed the memory there in stream order; 0: none has.
OperationNumber who_freed(const void* address);
/// The most device memory that was in use at once since begin_device_peak(), beyond what was in use then.
void begin_device_peak();
std::size_t device_peak();
/// The device memory that is in use, "12 bytes in 2 allocations, the first of cudaMalloc on line 12"; "" for
/// none.
std::string device_memory_in_use();

/// A byte is in use or not, and has been written to or not: for each word of four, a bit each byte, in that
/// order.
inline std::uint8_t* states() {
  return reinterpret_cast<std::uint8_t*>(states_arena.base());
}
/// Makes bytes belong to somebody, who has not written to them, or to nobody.
void put_in_use(std::size_t offset, std::size_t bytes, bool in_use);
void fill_with_poison(std::byte* first, std::size_t bytes);

/// What a wrong access is to, in words and as a fact's marks.
struct Described {
  std::string text;
  std::vector<std::string> marks = {};
};

/// "4 bytes at 16 bytes beyond the end of the 512 bytes of cudaMalloc on line 12", or before the beginning of
/// the next where that is nearer, or what is wrong else.
Described describe(const void* address, std::size_t bytes);

/// What has been given out of device and pinned memory, by offset.
const std::map<std::size_t, Allocation>& all_allocations();

void reset_memory();

}  // namespace course::gpu
