#pragma once

#include "gpu/simulator/memory/memory.hpp"
#include "gpu/simulator/memory/races.hpp"

/// What is kept of each word of memory(), and the short way through it, which nearly every access takes.
namespace course::gpu {

/// Of four bytes, or of one. In fresh memory all is zero. Of unordered readers two of different blocks of a
/// launch stand for all of that launch, and two of different warps for all between two barriers of their
/// block: whatever conflicts with another one conflicts with one of these, too.
struct alignas(64) Cell {
  Access write;  ///< its mark: there are atomics, or bytes by themselves
  Access first, second;
  std::uint32_t more;     ///< readers: a place among the lists, from 1
  std::uint32_t atomics;  ///< a place among the crowds, from 1
  std::uint32_t bytes;    ///< a place among the quarters, from 1
};
static_assert(sizeof(Access) == 32 && sizeof(Cell) == 128);

/// One for each word of memory().
extern Arena cells_arena;
inline Cell& cell_of(std::size_t offset) {
  return reinterpret_cast<Cell*>(cells_arena.base())[offset / 4];
}

inline bool is_same_block(const Access& a, const Access& b) {
  return a.operation == b.operation && a.block == b.block;
}

inline bool is_same_moment(const Access& a, const Access& b) {
  return is_same_block(a, b) && a.phase == b.phase && a.warp == b.warp && a.tick == b.tick;
}

/// Whether `a` happens before `b`, as far as that is seen at a glance; an access that there is not does.
inline bool is_plainly_ordered(const Access& a, const Access& b) {
  if (a.operation != b.operation) return a.operation == now.surely_before || a.operation == 0;
  return a.block == b.block && (a.phase != b.phase || (a.warp == b.warp && (a.lanes & ~b.lanes) == 0));
}

/// Whether `a` and `b` take place between two barriers of one block.
inline bool is_same_phase(const Access& a, const Access& b) {
  return is_same_block(a, b) && a.phase == b.phase;
}

/// Enters a read among a cell's readers, where it is seen at a glance what becomes of them.
inline bool is_routine_read(Cell& cell, const Access& access, std::uint8_t bytes, std::uint64_t site) {
  for (Access* group : {&cell.first, &cell.second}) {
    if (!is_same_moment(*group, access)) continue;
    group->lanes |= access.lanes;
    return true;
  }
  const auto take = [&](Access& place) {
    place = access;
    place.site = site;
    place.bytes = bytes;
    return true;
  };
  if (is_same_phase(cell.first, access)) {
    if (cell.first.warp == access.warp) return false;
    if (cell.second.operation == 0) return take(cell.second);
    return is_same_phase(cell.second, access) && cell.first.warp != cell.second.warp;
  }
  if (cell.more != 0 || !is_plainly_ordered(cell.first, access) || !is_plainly_ordered(cell.second, access))
    return false;
  cell.second.operation = 0;
  return take(cell.first);
}

/// Enters an access of a kernel's to a whole word, if that is plainly in order.
/// @param bytes of the access, which may have further words
inline bool is_routine_word(std::size_t offset, std::uint8_t bytes, AccessKind kind, std::uint64_t site) {
  constexpr std::uint8_t in_use = 0x0f;
  constexpr std::uint8_t written = 0xff;
  std::uint8_t& state = states()[offset / 4];
  const Access& access = now.access;
  Cell& cell = cell_of(offset);
  if (cell.write.mark || !is_plainly_ordered(cell.write, access)) return false;
  if (kind == AccessKind::Read) return state == written && is_routine_read(cell, access, bytes, site);
  if ((state & in_use) != in_use || cell.more != 0) return false;
  for (const Access* reader : {&cell.first, &cell.second})
    if (!is_plainly_ordered(*reader, access)) return false;
  state = written;
  cell.write = access;
  cell.write.site = site;
  cell.write.kind = kind;
  cell.write.bytes = bytes;
  cell.first.operation = cell.second.operation = 0;
  return true;
}

/// The same of several words in a row. Where one of them is not routine, those before it are entered already,
/// and may be entered again.
inline bool is_routine(std::size_t offset, std::size_t bytes, AccessKind kind, std::uint64_t site) {
  if (now.has_pending_race || ++now.accesses >= most_accesses) return false;
  for (std::size_t word = offset; word < offset + bytes; word += 4)
    if (!is_routine_word(word, static_cast<std::uint8_t>(bytes), kind, site)) return false;
  return true;
}

}  // namespace course::gpu
