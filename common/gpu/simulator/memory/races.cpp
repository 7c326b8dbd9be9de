#include "gpu/simulator/memory/races.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/simulator/findings/race_text.hpp"
#include "gpu/simulator/memory/memory.hpp"
#include "gpu/simulator/memory/shadow.hpp"

namespace course::gpu {

Now now;
Arena cells_arena(memory_bytes / 4 * sizeof(Cell));
Arena readers_arena(memory_bytes / 4 * sizeof(Readers));

namespace {

/// Unordered accesses of one kind, two of which stand for others as a cell's readers do.
struct Crowd {
  Access& first;
  Access& second;
  std::uint32_t& more;
};

struct Atomics {
  Access first, second;
  std::uint32_t more = 0;
};

struct Shadow {
  std::deque<std::vector<Access>> lists;
  std::deque<Atomics> atomics;
  std::deque<std::array<Cell, 4>> quarters;
};
Shadow shadow;

/// The crowds of one block, as many in each phase; or a launch's one.
struct Crowds {
  std::uint32_t first;
  std::uint32_t of_a_phase;
  OperationNumber operation;
  std::uint32_t block;
};
std::vector<Crowds> crowds;
std::uint32_t next_crowd = 1;

Crowd readers_of(Cell& cell) {
  return {cell.first, cell.second, cell.more};
}

Crowd atomics_of(Cell& cell) {
  Atomics& found = shadow.atomics[cell.atomics - 1];
  return {found.first, found.second, found.more};
}

/// A write by two, of which the second has yet to happen.
struct PendingRace {
  Access earlier, later;
  std::size_t offset;
  std::size_t bytes;
  std::array<std::byte, 16> before;
};
std::optional<PendingRace> pending;

/// Whether all of what `a` stands for happens before the access `b` that takes place now.
bool is_ordered(const Access& a, const Access& b) {
  if (a.operation == 0) return true;
  if (a.operation != b.operation) {
    const bool before = happens_before(a.operation, *now.clock);
    if (before) now.surely_before = a.operation;
    return before;
  }
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

void add_slowly(Crowd crowd, const Access& access) {
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

void add(Crowd crowd, const Access& access) {
  const auto joins = [&](const Access& a) { return is_same_moment(a, access) && is_alike(a, access); };
  if (joins(crowd.first))
    crowd.first.lanes |= access.lanes;
  else if (joins(crowd.second))
    crowd.second.lanes |= access.lanes;
  else if (!stand_for(crowd.first, crowd.second, access))
    add_slowly(crowd, access);
}

template <class Conflicts>
const Access* conflicting(Crowd crowd, const Access& access, Conflicts conflicts) {
  for (const Access* a : {&crowd.first, &crowd.second})
    if (conflicts(*a) && !is_ordered(*a, access)) return a;
  if (crowd.more == 0) return nullptr;
  for (const Access& a : shadow.lists[crowd.more - 1])
    if (conflicts(a) && !is_ordered(a, access)) return &a;
  return nullptr;
}

/// What the access races with: an unordered write, atomic, or, if it writes, reader.
const Access* raced(Cell& cell, const Access& access) {
  const auto always = [](const Access&) { return true; };
  if (!is_ordered(cell.write, access)) return &cell.write;
  if (cell.atomics != 0) {
    const auto conflicts = [&](const Access& a) { return !may_meet(a, access); };
    if (const Access* a = conflicting(atomics_of(cell), access, conflicts)) return a;
  }
  return access.kind == AccessKind::Read ? nullptr : conflicting(readers_of(cell), access, always);
}

void tell(const Access& earlier, const Access& access, std::size_t offset, std::size_t bytes) {
  if (earlier.kind != AccessKind::Write || access.kind != AccessKind::Write || access.site == 0) {
    tell_race(earlier, access, region_of(offset), false);
    return;
  }
  if (pending) return;  // of the same access
  now.has_pending_race = true;
  pending = {earlier, access, offset, std::min<std::size_t>(bytes, 16), {}};
  std::memcpy(pending->before.data(), memory().base() + offset, pending->bytes);
}

void enter(Cell& cell, const Access& access) {
  if (access.kind == AccessKind::Write || access.kind == AccessKind::Lifetime) {
    cell = Cell{};
    cell.write = access;
  } else if (access.kind == AccessKind::Read) {
    add(readers_of(cell), access);
  } else {
    if (cell.atomics == 0) {
      shadow.atomics.emplace_back();
      cell.atomics = static_cast<std::uint32_t>(shadow.atomics.size());
      cell.write.mark = true;
    }
    add(atomics_of(cell), access);
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
      if (cell.atomics == 0) continue;
      shadow.atomics.push_back(shadow.atomics[cell.atomics - 1]);
      part.atomics = static_cast<std::uint32_t>(shadow.atomics.size());
    }
    shadow.quarters.push_back(parts);
    cell.bytes = static_cast<std::uint32_t>(shadow.quarters.size());
    cell.write.mark = true;
  }
  return shadow.quarters[cell.bytes - 1];
}

}  // namespace

void find_races(std::size_t offset, std::size_t bytes, const Access& access) {
  tell_pending_race();
  const std::size_t behind = offset + bytes;
  for (std::size_t at = offset; at < behind;) {
    Cell& cell = whole_cell_of(at);
    const std::size_t next = std::min((at / 4 + 1) * 4, behind);
    if (is_stale(cell, at, access)) cell = {};
    if (next - at == 4 && cell.bytes == 0)
      look_at(cell, access, at, behind - at);
    else
      for (std::size_t byte = at; byte < next; ++byte)
        look_at(quarters_of(cell)[byte % 4], access, byte, behind - byte);
    at = next;
  }
}

void tell_pending_race() {
  if (!pending) return;
  now.has_pending_race = false;
  const PendingRace race = *pending;
  pending.reset();
  const bool same = std::memcmp(race.before.data(), memory().base() + race.offset, race.bytes) == 0;
  tell_race(race.earlier, race.later, region_of(race.offset), same);
}

void begin_launch_crowd() {
  now.launch_crowd = next_crowd;
  crowds.push_back({next_crowd++, 1, now.access.operation, 0});
}

void begin_crowds(std::size_t warps) {
  now.first_crowd = next_crowd;
  crowds.push_back(
      {next_crowd, static_cast<std::uint32_t>(warps) + 1, now.access.operation, now.access.block});
  next_crowds();
}

void next_crowds() {
  now.block_crowd = next_crowd;
  next_crowd += crowds.back().of_a_phase;
}

void move_readers_to_cell(Readers& readers, Cell& cell) {
  const bool is_latest = readers.crowd >= crowds.back().first;
  const Crowds& block = is_latest
                            ? crowds.back()
                            : *std::prev(std::ranges::upper_bound(crowds, readers.crowd, {}, &Crowds::first));
  const std::uint32_t place = readers.crowd - block.first;
  if (const std::uint32_t behind = place % block.of_a_phase; behind != 0) {
    if (cell.first.operation != 0) cell.second.operation = cell.more = 0;
    if (&cell < &cell_of(pinned_begin)) cell.first.operation = cell.write.operation = 0;
    const bool writes = (readers.site & is_write) != 0;
    (writes ? cell.write : cell.first) = {.site = readers.site & ~is_write,
                                          .operation = block.operation,
                                          .block = block.block,
                                          .phase = place / block.of_a_phase,
                                          .lanes = readers.lanes,
                                          .warp = static_cast<std::uint16_t>(behind - 1),
                                          .bytes = 4,
                                          .kind = writes ? AccessKind::Write : AccessKind::Read};
  }
  readers = {};
}

void reset_races() {
  pending.reset();
  crowds.clear();
  next_crowd = 1;
  shadow = {};
  if (!now.checked) return;
  cells_arena.release(0, pinned_begin / 4 * sizeof(Cell));
  readers_arena.release(0, pinned_begin / 4 * sizeof(Readers));
  for (const auto& [offset, allocation] : all_allocations()) {
    const std::size_t words = (allocation.bytes + 3) / 4;
    cells_arena.clear(offset / 4 * sizeof(Cell), words * sizeof(Cell));
    readers_arena.clear(offset / 4 * sizeof(Readers), words * sizeof(Readers));
  }
}

}  // namespace course::gpu
