#include "gpu/simulator/memory/memory.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "protocol/fact_kinds.hpp"
#include "protocol/poison.hpp"

namespace course::gpu {

Arena memory_arena(memory_bytes);
Arena states_arena(memory_bytes / 4);

namespace {

constexpr std::size_t alignment = 256;  // cudaMalloc's
constexpr std::size_t gap = 256 << 10;  // belongs to nobody: more than twice a tile's rows past the end

struct Allocations {
  std::map<std::size_t, Allocation> by_offset;
  std::size_t pinned_end = pinned_begin;
  std::size_t device_end = device_begin;
  std::size_t device_in_use = 0, device_before = 0, device_most = 0;  ///< bytes
};
Allocations allocations;

std::string bytes_text(std::size_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

/// The allocation where it lies in the region of `offset`, else none.
const Allocation* in_region_of(std::size_t offset, const Allocation* allocation) {
  return allocation && region_of(allocation->offset) == region_of(offset) ? allocation : nullptr;
}

/// The allocation, in use or freed, that begins first behind this address; nullptr: there is none.
const Allocation* allocation_after(const void* address) {
  const auto above = allocations.by_offset.upper_bound(offset_of(address));
  return above == allocations.by_offset.end() ? nullptr : &above->second;
}

}  // namespace

const char* name_of(Region region) {
  return region == Region::Shared   ? "shared memory"
         : region == Region::Pinned ? "page-locked host memory"
                                    : "device memory";
}

const char* mark_of(Region region) {
  return region == Region::Shared   ? mark_shared_memory
         : region == Region::Pinned ? mark_pinned_memory
                                    : mark_device_memory;
}

void fill_with_poison(std::byte* first, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 4)
    std::memcpy(first + i, &poison::device, std::min<std::size_t>(4, bytes - i));
}

void put_in_use(std::size_t offset, std::size_t bytes, bool in_use) {
  std::uint8_t* const state = states() + offset / 4;
  std::fill_n(state, bytes / 4, in_use ? 0x0f : 0);
  if (bytes % 4 != 0) state[bytes / 4] = in_use ? static_cast<std::uint8_t>((1 << bytes % 4) - 1) : 0;
}

std::byte* allocate(Region region, std::size_t bytes, std::string made) {
  const bool pinned = region == Region::Pinned;
  std::size_t& end = pinned ? allocations.pinned_end : allocations.device_end;
  const std::size_t limit = pinned ? device_begin : memory_bytes;
  if (bytes > limit - end || limit - end - bytes < gap + alignment) return nullptr;
  const std::size_t offset = end;
  end = (offset + bytes + gap + alignment - 1) / alignment * alignment;
  allocations.by_offset.emplace(offset, Allocation{offset, bytes, std::move(made)});
  if (!pinned) allocations.device_in_use += bytes;
  allocations.device_most = std::max(allocations.device_most, allocations.device_in_use);
  put_in_use(offset, bytes, true);
  fill_with_poison(memory().base() + offset, bytes);
  return memory().base() + offset;
}

Allocation* allocation_before(const void* address) {
  if (!memory().has(address)) return nullptr;
  const auto above = allocations.by_offset.upper_bound(offset_of(address));
  return above == allocations.by_offset.begin() ? nullptr : &std::prev(above)->second;
}

Allocation* allocation_of(const void* address, std::size_t bytes) {
  Allocation* const found = allocation_before(address);
  if (!found || !found->freed.empty()) return nullptr;
  const std::size_t inside = offset_of(address) - found->offset;
  return inside <= found->bytes && bytes <= found->bytes - inside ? found : nullptr;
}

OperationNumber who_freed(const void* address) {
  const Allocation* const found = allocation_before(address);
  return found && offset_of(address) - found->offset < found->bytes ? found->freed_by : 0;
}

void free(Allocation& allocation, std::string freed, OperationNumber freed_by) {
  allocation.freed = std::move(freed);
  allocation.freed_by = freed_by;
  put_in_use(allocation.offset, allocation.bytes, false);
  if (region_of(allocation.offset) == Region::Device) allocations.device_in_use -= allocation.bytes;
}

void begin_device_peak() {
  allocations.device_before = allocations.device_most = allocations.device_in_use;
}

std::size_t device_peak() {
  return allocations.device_most - allocations.device_before;
}

std::string device_memory_in_use() {
  std::size_t bytes = 0;
  std::size_t count = 0;
  const Allocation* first = nullptr;
  for (const auto& [offset, allocation] : allocations.by_offset) {
    if (region_of(offset) != Region::Device || !allocation.freed.empty()) continue;
    if (count++ == 0) first = &allocation;
    bytes += allocation.bytes;
  }
  if (count == 0) return "";
  return bytes_text(bytes) + " in " + std::to_string(count) +
         (count == 1 ? " allocation, of " : " allocations, the first of ") + first->made;
}

Described describe(const void* address, std::size_t bytes) {
  const std::string what = bytes_text(bytes);
  const std::size_t offset = offset_of(address);
  const char* const region = mark_of(region_of(offset));
  const Allocation* const before = in_region_of(offset, allocation_before(address));
  const Allocation* const after = in_region_of(offset, allocation_after(address));
  const auto whose = [](const Allocation& allocation) {
    return bytes_text(allocation.bytes) + " of " + allocation.made;
  };
  if (before && offset < before->offset + before->bytes) {
    if (before->freed.empty())
      return {what + " that reach beyond the end of the " + whose(*before), {region, mark_beyond_end}};
    return {what + " of the " + whose(*before) + ", which " + before->freed + " freed", {region, mark_freed}};
  }
  const std::size_t behind = before ? offset - (before->offset + before->bytes) : 0;
  // Whoever misses the beginning of a tensor is nearer to it than to the end of the one before.
  if (after && (!before || after->offset - offset < behind))
    return {
        what + " at " + bytes_text(after->offset - offset) + " before the beginning of the " + whose(*after),
        {region, mark_before_beginning}};
  if (before)
    return {what + " at " + bytes_text(behind) + " beyond the end of the " + whose(*before),
            {region, mark_beyond_end}};
  return {what + " that no allocation has", {region}};
}

const std::map<std::size_t, Allocation>& all_allocations() {
  return allocations.by_offset;
}

void reset_memory() {
  memory().release(shared_begin, pinned_begin);
  memory().release(pinned_begin, allocations.pinned_end - pinned_begin);
  memory().release(device_begin, allocations.device_end - device_begin);
  std::fill_n(states(), pinned_begin / 4, std::uint8_t{0});
  std::fill(states() + pinned_begin / 4, states() + allocations.pinned_end / 4, std::uint8_t{0});
  std::fill(states() + device_begin / 4, states() + allocations.device_end / 4, std::uint8_t{0});
  allocations = {};
}

}  // namespace course::gpu
