#include "gpu/simulator/races.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/simulator/arena.hpp"
#include "gpu/simulator/memory.hpp"
#include "gpu/simulator/race_text.hpp"

namespace course::gpu {

Now now;

namespace {

/// Unordered accesses of one kind. Two of different blocks of a launch stand for all of that launch, and two
/// of different warps for all between two barriers of their block: whatever conflicts with another one
/// conflicts with one of these, too.
struct Crowd {
  Access first, second;
  std::uint32_t more;  ///< a place among the lists, from 1
};

/// Of four bytes, or of one. In fresh memory all is zero.
struct Cell {
  Access write;
  Crowd readers;
  std::uint32_t atomics;     ///< a place among the crowds, from 1
  std::uint32_t bytes;       ///< a place among the quarters, from 1
  std::uint32_t generation;  ///< of the block that shared memory belongs to
};

struct Shadow {
  std::deque<std::vector<Access>> lists;
  std::deque<Crowd> crowds;
  std::deque<std::array<Cell, 4>> quarters;
  std::uint32_t generation = 0;
  std::size_t pinned_end = 0, device_end = 0;  ///< words
};
Shadow shadow;

constexpr std::size_t cells_bytes = memory_bytes / 4 * sizeof(Cell);

Arena& cells_arena() {
  static Arena arena(cells_bytes);
  return arena;
}

/// A write by two, of which the second has yet to happen.
struct PendingRace {
  Access earlier, later;
  std::size_t offset;
  std::size_t bytes;
  std::array<std::byte, 16> before;
};
std::optional<PendingRace> pending;

bool is_same_block(const Access& a, const Access& b) {
  return a.operation == b.operation && a.block == b.block;
}

bool is_same_moment(const Access& a, const Access& b) {
  return is_same_block(a, b) && a.phase == b.phase && a.warp == b.warp && a.tick == b.tick &&
         a.bytes == b.bytes && a.kind == b.kind;
}

/// Whether all of what `a` stands for happens before the access `b` that takes place now.
bool is_ordered(const Access& a, const Access& b) {
  if (a.operation == 0) return true;
  if (a.operation != b.operation) return happens_before(a.operation, *now.clock);
  if (a.block != b.block) return false;
  if (a.phase != b.phase) return true;
  if (a.warp != b.warp) return false;
  for (std::uint32_t others = a.lanes & ~b.lanes; others != 0; others &= others - 1)
    if (!now.ticks || now.ticks[__builtin_ctz(others)] <= a.tick) return false;
  return true;
}

bool is_atomic(const Access& a) {
  return a.kind == AccessKind::Atomic || a.kind == AccessKind::BlockAtomic;
}

/// Whether two atomics may meet: of one extent, with scopes that reach both.
bool may_meet(const Access& a, const Access& b) {
  const bool reach = (a.kind == AccessKind::Atomic && b.kind == AccessKind::Atomic) || is_same_block(a, b);
  return is_atomic(a) && is_atomic(b) && a.bytes == b.bytes && reach;
}

bool is_alike(const Access& a, const Access& b) {
  return a.operation == b.operation && a.bytes == b.bytes && a.kind == b.kind;
}

/// Whether two of a crowd stand for the access; or makes them, where both are of one block, and it is of
/// another.
bool stand_for(const Access& a, Access& b, const Access& access) {
  if (!is_alike(a, access) || !is_alike(b, access)) return false;
  if (a.block == b.block && a.block != access.block) b = access;
  if (a.block != b.block) return true;
  return a.phase == access.phase && b.phase == access.phase && a.warp != b.warp;
}

bool stand_for(std::vector<Access>& list, const Access& access) {
  for (std::size_t i = 0; i + 1 < list.size(); ++i)
    for (std::size_t j = i + 1; j < list.size(); ++j)
      if (stand_for(list[i], list[j], access)) return true;
  return false;
}

void add_slowly(Crowd& crowd, const Access& access) {
  const auto is_over = [&](const Access& a) { return is_ordered(a, access); };
  if (is_over(crowd.second)) crowd.second = {};
  if (is_over(crowd.first)) crowd.first = std::exchange(crowd.second, {});
  if (crowd.more != 0) std::erase_if(shadow.lists[crowd.more - 1], is_over);
  if (crowd.first.operation == 0) {
    crowd.first = access;
  } else if (crowd.second.operation == 0) {
    crowd.second = access;
  } else {
    if (crowd.more == 0) {
      shadow.lists.emplace_back();
      crowd.more = static_cast<std::uint32_t>(shadow.lists.size());
    }
    std::vector<Access>& list = shadow.lists[crowd.more - 1];
    if (!stand_for(list, access)) list.push_back(access);
  }
}

void add(Crowd& crowd, const Access& access) {
  if (is_same_moment(crowd.first, access))
    crowd.first.lanes |= access.lanes;
  else if (is_same_moment(crowd.second, access))
    crowd.second.lanes |= access.lanes;
  else if (!stand_for(crowd.first, crowd.second, access))
    add_slowly(crowd, access);
}

template <class Conflicts>
const Access* conflicting(const Crowd& crowd, const Access& access, Conflicts conflicts) {
  for (const Access* a : {&crowd.first, &crowd.second})
    if (conflicts(*a) && !is_ordered(*a, access)) return a;
  if (crowd.more == 0) return nullptr;
  for (const Access& a : shadow.lists[crowd.more - 1])
    if (conflicts(a) && !is_ordered(a, access)) return &a;
  return nullptr;
}

/// What the access races with: an unordered write, atomic, or, if it writes, reader.
const Access* raced(const Cell& cell, const Access& access) {
  const auto always = [](const Access&) { return true; };
  if (!is_ordered(cell.write, access)) return &cell.write;
  if (cell.atomics != 0) {
    const auto conflicts = [&](const Access& a) { return !may_meet(a, access); };
    if (const Access* a = conflicting(shadow.crowds[cell.atomics - 1], access, conflicts)) return a;
  }
  return access.kind == AccessKind::Read ? nullptr : conflicting(cell.readers, access, always);
}

void tell(const Access& earlier, const Access& access, std::size_t offset, std::size_t bytes) {
  if (earlier.kind != AccessKind::Write || access.kind != AccessKind::Write || access.site == 0) {
    tell_race(earlier, access, region_of(offset), false);
    return;
  }
  if (pending) return;  // of the same access
  pending = {earlier, access, offset, std::min<std::size_t>(bytes, 16), {}};
  std::memcpy(pending->before.data(), memory().base() + offset, pending->bytes);
}

void enter(Cell& cell, const Access& access) {
  if (access.kind == AccessKind::Write || access.kind == AccessKind::Lifetime) {
    cell = {access, {}, 0, 0, cell.generation};
  } else if (access.kind == AccessKind::Read) {
    add(cell.readers, access);
  } else {
    if (cell.atomics == 0) {
      shadow.crowds.emplace_back();
      cell.atomics = static_cast<std::uint32_t>(shadow.crowds.size());
    }
    add(shadow.crowds[cell.atomics - 1], access);
  }
}

/// @param bytes of the access, from this cell's on
void look_at(Cell& cell, const Access& access, std::size_t offset, std::size_t bytes) {
  if (const Access* const earlier = raced(cell, access)) tell(*earlier, access, offset, bytes);
  enter(cell, access);
}

std::array<Cell, 4>& quarters_of(Cell& cell) {
  if (cell.bytes == 0) {
    std::array<Cell, 4> parts;
    for (Cell& part : parts) {
      part = cell;
      if (cell.atomics != 0) {
        shadow.crowds.push_back(shadow.crowds[cell.atomics - 1]);
        part.atomics = static_cast<std::uint32_t>(shadow.crowds.size());
      }
    }
    shadow.quarters.push_back(parts);
    cell.bytes = static_cast<std::uint32_t>(shadow.quarters.size());
  }
  return shadow.quarters[cell.bytes - 1];
}

}  // namespace

void find_races(std::size_t offset, std::size_t bytes, const Access& access) {
  tell_pending_race();
  Cell* const cells = reinterpret_cast<Cell*>(cells_arena().base());
  const std::size_t behind = offset + bytes;
  std::size_t& end = offset < device_begin ? shadow.pinned_end : shadow.device_end;
  end = std::max(end, (behind + 3) / 4);
  for (std::size_t at = offset; at < behind;) {
    Cell& cell = cells[at / 4];
    const std::size_t next = std::min((at / 4 + 1) * 4, behind);
    if (at < pinned_begin && cell.generation != shadow.generation) {
      cell = {};
      cell.generation = shadow.generation;
    }
    if (next - at == 4 && cell.bytes == 0)
      look_at(cell, access, at, behind - at);
    else
      for (std::size_t byte = at; byte < next; ++byte)
        look_at(quarters_of(cell)[byte % 4], access, byte, behind - byte);
    at = next;
  }
}

void forget_shared_accesses() {
  ++shadow.generation;
}

void tell_pending_race() {
  if (!pending) return;
  const PendingRace race = *pending;
  pending.reset();
  const bool same = std::memcmp(race.before.data(), memory().base() + race.offset, race.bytes) == 0;
  tell_race(race.earlier, race.later, region_of(race.offset), same);
}

void reset_races() {
  pending.reset();
  const std::size_t size = sizeof(Cell);
  cells_arena().release(0, shadow.pinned_end * size);
  if (shadow.device_end > 0)
    cells_arena().release(device_begin / 4 * size, shadow.device_end * size - device_begin / 4 * size);
  shadow = {};
}

}  // namespace course::gpu
