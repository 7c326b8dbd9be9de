#include "gpu/simulator/memory/accesses.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "gpu/simulator/findings/findings.hpp"
#include "gpu/simulator/findings/race_text.hpp"
#include "gpu/simulator/findings/source_lines.hpp"
#include "gpu/simulator/host/errors.hpp"
#include "gpu/simulator/host/streams.hpp"
#include "gpu/simulator/kernel/blocks.hpp"
#include "gpu/simulator/kernel/fibers.hpp"
#include "gpu/simulator/kernel/kernel_side.hpp"
#include "gpu/simulator/kernel/shared_memory.hpp"
#include "gpu/simulator/memory/memory.hpp"
#include "gpu/simulator/memory/requests.hpp"
#include "protocol/fact_kinds.hpp"
#include "protocol/poison.hpp"

namespace course::gpu {

namespace {

Fact fact_of(const char* kind, const Access& access, const std::string& text,
             std::vector<std::string> marks = {}) {
  return {.kind = kind,
          .text = text,
          .call = call_of(access.operation),
          .at = place_of(access),
          .marks = std::move(marks)};
}

/// Notes that the access is to this, where its place in the source has not done so before.
void note_first(const char* kind, const Access& access, const Described& what) {
  if (!is_first(kind, access.site, 0)) return;
  const char* const does = access.kind == AccessKind::Read ? " reads " : " writes ";
  note(fact_of(kind, access, text_of(access) + does + what.text, what.marks));
}

/// The device would end the kernel here.
void break_at(const Access& access, const char* kind, const Described& what, Error error) {
  note_first(kind, access, what);
  break_device(error);
  abandon_kernel();
}

bool is_reference_to_dynamic_shared(const void* address, std::size_t bytes) {
  const void* held = nullptr;
  if (bytes != sizeof held) return false;
  std::memcpy(&held, address, sizeof held);
  return held == dynamic_shared_memory();
}

bool is_within(const void* address, const void* first, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(first) < bytes;
}

/// What the kernel may use of the host's memory: its threads' stacks, its arguments, the simulator's
/// variables.
bool is_the_kernels_own(const void* address, std::size_t bytes) {
  return on_a_fibers_stack(address) || is_within(address, &this_thread, sizeof this_thread) ||
         is_within(address, now.arguments, now.arguments_bytes) ||
         is_reference_to_dynamic_shared(address, bytes);
}

void check_outside(const void* address, std::size_t bytes, const Access& access) {
  if (!now.in_kernel) return;
  if (reinterpret_cast<std::uintptr_t>(address) >= 4096 && is_the_kernels_own(address, bytes)) return;
  break_at(
      access, fact_host_pointer,
      {reinterpret_cast<std::uintptr_t>(address) < 4096 ? "through a null pointer"
                                                        : "the host's memory, which no kernel can reach"},
      Error::IllegalAddress);
}

/// The bits of a word's bytes from `offset` up to `behind`.
unsigned bits_of(std::size_t offset, std::size_t behind) {
  const std::size_t first = offset % 4;
  const std::size_t count = std::min<std::size_t>(4 - first, behind - offset);
  return ((1U << count) - 1) << first;
}

bool have_state(std::size_t offset, std::size_t bytes, unsigned shift) {
  const std::size_t behind = offset + bytes;
  for (std::size_t at = offset; at < behind; at = (at / 4 + 1) * 4)
    if (const unsigned bits = bits_of(at, behind); (states()[at / 4] >> shift & bits) != bits) return false;
  return true;
}

void mark_written(std::size_t offset, std::size_t bytes) {
  const std::size_t behind = offset + bytes;
  for (std::size_t at = offset; at < behind; at = (at / 4 + 1) * 4)
    states()[at / 4] |= static_cast<std::uint8_t>(bits_of(at, behind) << 4);
}

/// Whether a byte still holds what memory holds that nobody has written to. GCC does not announce the store
/// of what a call returns, so that a byte may have been written without a mark: it gets one here.
bool holds_poison(std::size_t offset, std::size_t bytes) {
  const auto poison_bytes = std::bit_cast<std::array<std::byte, 4>>(poison::device);
  for (std::size_t at = offset; at < offset + bytes; ++at)
    if (!have_state(at, 1, 4) && memory().base()[at] == poison_bytes[at % 4]) return true;
  mark_written(offset, bytes);
  return false;
}

void check_unowned(const void* address, std::size_t bytes, const Access& access) {
  const bool shared = region_of(offset_of(address)) == Region::Shared;
  if (!shared && tell_unordered_free(address, access)) {
    break_device(Error::IllegalAddress);
    abandon_kernel();
  }
  break_at(access, fact_out_of_bounds, shared ? describe_shared(address, bytes) : describe(address, bytes),
           Error::IllegalAddress);
}

void check_inside(const void* address, std::size_t bytes, const Access& access, bool aligned) {
  const std::size_t offset = offset_of(address);
  if (aligned && offset % bytes != 0)
    return break_at(access, fact_misaligned,
                    {std::to_string(bytes) + " bytes at once at an address that " + std::to_string(bytes) +
                     " does not divide"},
                    Error::MisalignedAddress);
  if (!have_state(offset, bytes, 0)) return check_unowned(address, bytes, access);
  if (access.kind != AccessKind::Write && region_of(offset) != Region::Pinned &&
      !have_state(offset, bytes, 4) && holds_poison(offset, bytes))
    note_first(fact_unwritten_read, access,
               {name_of(region_of(offset)) + std::string(" that nobody has written to yet")});
  if (access.kind != AccessKind::Read) mark_written(offset, bytes);
  find_races(offset, bytes, access);
}

/// Blocks run one after another, threads until they wait: what another one is to write may never come.
void check_spinning(const Access& access) {
  note(fact_of(fact_spinning, access,
               text_of(access) + " has made " + std::to_string(most_accesses) +
                   " accesses without a barrier or its end: if it waits for what another thread writes, "
                   "nobody promises that that one runs meanwhile"));
  break_device(Error::IllegalAddress);
  abandon_kernel();
}

/// The host's code may use what is page-locked, and nothing of the device's.
void check_from_host(const void* address, std::size_t bytes, Access access) {
  access.operation = host_operation();
  now.clock = &host_clock();
  const std::size_t offset = offset_of(address);
  if (region_of(offset) != Region::Pinned)
    return note_first(fact_host_dereference, access,
                      {name_of(region_of(offset)) + std::string(", which has to be copied")});
  if (!have_state(offset, bytes, 0)) return note_first(fact_out_of_bounds, access, describe(address, bytes));
  if (access.kind != AccessKind::Read) mark_written(offset, bytes);
  find_races(offset, bytes, access);
}

}  // namespace

void check_access(const void* address, std::size_t bytes, AccessKind kind, std::uint64_t site, bool aligned) {
  Access access = now.access;
  access.site = site;
  access.kind = kind;
  access.bytes = static_cast<std::uint8_t>(std::min<std::size_t>(bytes, 255));
  if (!memory().has(address)) return check_outside(address, bytes, access);
  if (!now.in_kernel) return check_from_host(address, bytes, access);
  if (++now.accesses >= most_accesses) check_spinning(access);
  check_inside(address, bytes, access, aligned);
}

void check_atomic(const void* address, std::size_t bytes, bool of_block, int line) {
  if (!now.checked) return;
  const AccessKind kind = of_block ? AccessKind::BlockAtomic : AccessKind::Atomic;
  count_access(address, bytes, kind, site_of_line(line), bytes);
  check_access(address, bytes, kind, site_of_line(line), true);
}

bool is_still_there(const void* pointer, std::size_t bytes) {
  if (bytes == 0 || !memory().has(pointer) || allocation_of(pointer, bytes)) return true;
  if (!tell_unordered_free(pointer, now.access)) {
    const Described what = describe(pointer, bytes);
    note(fact_of(fact_out_of_bounds, now.access, name_of(now.access.operation) + " uses " + what.text,
                 what.marks));
  }
  break_device(Error::IllegalAddress);
  return false;
}

void touch(const void* address, std::size_t bytes, AccessKind kind) {
  if (!now.checked || bytes == 0 || !memory().has(address)) return;
  Access access = now.access;
  access.kind = kind;
  const std::size_t offset = offset_of(address);
  if (kind == AccessKind::Write) mark_written(offset, bytes);
  find_races(offset, bytes, access);
}

}  // namespace course::gpu
