#pragma once

#include "gpu/simulator/memory/memory.hpp"
#include "gpu/simulator/memory/races.hpp"

/// What is kept of each word of memory(), and the short way through it, which nearly every access takes.
namespace course::gpu {

/// Of four bytes, or of one, each half in a line of the cache. In fresh memory all is zero. Without a first
/// reader there is no other one, so that the second half need not be fetched. Of unordered readers two of
/// different blocks of a launch stand for all of that launch, and two of different warps for all between two
/// barriers of their block: whatever conflicts with another one conflicts with one of these, too.
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

/// Of a word that nothing writes to but what is ordered before all who are named here: its readers, in place
/// of its cell's, or beside them. Most accesses are reads that need no more. Of a word of shared memory also
/// a write, in place of all that the cell has: once a barrier has ordered it, nobody has to know of it any
/// more.
struct Readers {
  std::uint64_t site;  ///< with the mark `is_write`
  /// A warp's, whose lanes' reads are all that have to be known, and not in the cell; a block's or a
  /// launch's, for which two readers stand that are; 0: the cell has all.
  std::uint32_t crowd;
  std::uint32_t lanes;  ///< a bit each
};
inline constexpr std::uint64_t is_write = std::uint64_t{1} << 63;
extern Arena readers_arena;
inline Readers& readers_at(std::size_t offset) {
  return reinterpret_cast<Readers*>(readers_arena.base())[offset / 4];
}
void move_readers_to_cell(Readers& readers, Cell& cell);

/// The word's cell, which has all of its readers that the running thread's accesses have to be held against.
inline Cell& cell_for_thread(std::size_t offset) {
  Cell& cell = cell_of(offset);
  Readers& readers = readers_at(offset);
  if (readers.crowd >= now.first_crowd && readers.crowd < now.block_crowd) {  // a barrier has ordered them
    cell.first.operation = cell.second.operation = 0;
    readers.crowd = 0;
  } else if (readers.crowd != 0) {
    move_readers_to_cell(readers, cell);
  }
  return cell;
}

/// The word's cell, which has all of its readers.
inline Cell& whole_cell_of(std::size_t offset) {
  Cell& cell = cell_of(offset);
  Readers& readers = readers_at(offset);
  if (readers.crowd != 0) move_readers_to_cell(readers, cell);
  return cell;
}

/// Enters a read, if that needs no look at the cell: of the block's crowd or the warp's own; or the first one
/// since a barrier of the block, which orders those before it.
inline bool is_known_read(std::size_t offset, std::uint64_t site) {
  Readers& readers = readers_at(offset);
  if (readers.crowd == now.block_crowd || readers.crowd == now.launch_crowd) return true;
  if (readers.crowd == now.warp_crowd && (readers.site & is_write) == 0) {
    readers.lanes |= now.access.lanes;
    return true;
  }
  if (readers.crowd < now.first_crowd || readers.crowd > now.block_crowd || now.warp_crowd == no_crowd)
    return false;
  readers = {site, now.warp_crowd, now.access.lanes};
  return true;
}

/// Enters a write to a word of shared memory, if that needs no look at the cell: the first access since a
/// barrier of the block, or since another block had the word, or one more write of the lane.
inline bool is_known_write(std::size_t offset, std::uint64_t site) {
  constexpr std::uint8_t in_use = 0x0f;
  if (offset >= pinned_begin || now.warp_crowd == no_crowd || (states()[offset / 4] & in_use) != in_use)
    return false;
  Readers& readers = readers_at(offset);
  const bool is_own =
      readers.crowd == now.warp_crowd && (readers.site & is_write) != 0 && readers.lanes == now.access.lanes;
  if (!is_own && (readers.crowd == 0 || readers.crowd >= now.block_crowd)) return false;
  readers = {site | is_write, now.warp_crowd, now.access.lanes};
  states()[offset / 4] = 0xff;
  return true;
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

/// Whether it is of shared memory, which belonged to another block when it was accessed last.
inline bool is_stale(const Cell& cell, std::size_t offset, const Access& access) {
  const Access& last = cell.write.operation != 0 ? cell.write : cell.first;
  return offset < pinned_begin && last.operation != 0 && !is_same_block(last, access);
}

/// Enters a read among a cell's readers, where it is seen at a glance what becomes of them.
/// @param readers are in the cell; may be moved out of it where nothing writes to the word any more that is
/// not ordered before the block's next access
inline bool is_routine_read(Cell& cell, Readers& readers, const Access& access, std::uint64_t site) {
  const bool may_move = !is_same_phase(cell.write, access);
  const auto take = [&](Access& place) {
    place = access;
    place.site = site;
    place.bytes = 4;
  };
  const auto begin = [&] {
    if (may_move && now.warp_crowd != no_crowd)
      readers = {site, now.warp_crowd, access.lanes};
    else
      take(cell.first);
    return true;
  };
  if (cell.first.operation == 0) return begin();
  for (Access* group : {&cell.first, &cell.second}) {
    if (!is_same_moment(*group, access)) continue;
    group->lanes |= access.lanes;
    return true;
  }
  if (is_same_phase(cell.first, access)) {
    if (cell.first.warp == access.warp) return false;
    if (cell.second.operation == 0)
      take(cell.second);
    else if (!is_same_phase(cell.second, access) || cell.first.warp == cell.second.warp)
      return false;
    if (may_move && cell.more == 0) readers = {0, now.block_crowd, 0};
    return true;
  }
  if (cell.more != 0) return false;
  if (cell.first.operation == access.operation && cell.first.block != access.block) {
    if (cell.second.operation == 0 || is_same_block(cell.first, cell.second)) take(cell.second);
    if (cell.second.operation != access.operation) return false;
    if (cell.write.operation != access.operation) readers = {0, now.launch_crowd, 0};
    return true;
  }
  if (!is_plainly_ordered(cell.first, access) || !is_plainly_ordered(cell.second, access)) return false;
  cell.second.operation = 0;
  return begin();
}

/// Enters an access of a kernel's to a whole word, if that is plainly in order.
[[gnu::noinline]] inline bool is_routine_word(std::size_t offset, AccessKind kind, std::uint64_t site) {
  constexpr std::uint8_t in_use = 0x0f;
  constexpr std::uint8_t written = 0xff;
  std::uint8_t& state = states()[offset / 4];
  const Access& access = now.access;
  Cell& cell = cell_for_thread(offset);
  if (is_stale(cell, offset, access)) cell = {};
  if (cell.write.mark || !is_plainly_ordered(cell.write, access)) return false;
  if (kind == AccessKind::Read)
    return state == written && is_routine_read(cell, readers_at(offset), access, site);
  if ((state & in_use) != in_use) return false;
  if (cell.first.operation != 0) {
    if (cell.more != 0 || !is_plainly_ordered(cell.first, access) || !is_plainly_ordered(cell.second, access))
      return false;
    cell.first.operation = cell.second.operation = 0;
  }
  state = written;
  cell.write = access;
  cell.write.site = site;
  cell.write.kind = kind;
  cell.write.bytes = 4;
  return true;
}

/// The same of several words in a row. Where one of them is not routine, those before it are entered already,
/// and may be entered again.
inline bool is_routine(std::size_t offset, std::size_t bytes, AccessKind kind, std::uint64_t site) {
  if (now.has_pending_race || ++now.accesses >= most_accesses) return false;
  for (std::size_t word = offset; word < offset + bytes; word += 4) {
    if (kind == AccessKind::Read ? is_known_read(word, site) : is_known_write(word, site)) continue;
    if (!is_routine_word(word, kind, site)) return false;
  }
  return true;
}

}  // namespace course::gpu
