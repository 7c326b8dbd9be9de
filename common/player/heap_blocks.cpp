#include "player/heap_blocks.hpp"

#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <new>

#ifdef COURSE_SANITIZED

namespace course::heap_blocks {

void begin() {}
void end() {}
std::span<const std::byte> block_at(const void*) {
  return {};
}

}  // namespace course::heap_blocks

#else

#include <ext/malloc_allocator.h>

namespace course::heap_blocks {

namespace {

/// By where they begin. Its own nodes must not come from the operator new that fills it.
using Blocks = std::map<const std::byte*, std::size_t, std::less<>,
                        __gnu_cxx::malloc_allocator<std::pair<const std::byte* const, std::size_t> > >;

std::atomic<bool> noting = false;
std::mutex mutex;

/// Never destroyed: blocks are freed until the process ends.
Blocks& blocks() {
  static Blocks& all = *new (std::malloc(sizeof(Blocks))) Blocks;
  return all;
}

void* note(void* block, std::size_t size) {
  if (noting.load(std::memory_order_relaxed)) {
    const std::lock_guard guard(mutex);
    blocks()[static_cast<const std::byte*>(block)] = size;
  }
  return block;
}

void forget(void* block) {
  if (!noting.load(std::memory_order_relaxed)) return;
  const std::lock_guard guard(mutex);
  blocks().erase(static_cast<const std::byte*>(block));
}

/// As the standard has it of operator new: the handler may free memory, and else throws.
void* allocate(std::size_t size) {
  for (;;) {
    if (void* block = std::malloc(size == 0 ? 1 : size)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

}  // namespace

void begin() {
  const std::lock_guard guard(mutex);
  blocks().clear();
  noting = true;
}

void end() {
  const std::lock_guard guard(mutex);
  noting = false;
  blocks().clear();
}

std::span<const std::byte> block_at(const void* address) {
  const std::lock_guard guard(mutex);
  const auto* const byte = static_cast<const std::byte*>(address);
  const auto after = blocks().upper_bound(byte);
  if (after == blocks().begin()) return {};
  const auto& [begin, size] = *std::prev(after);
  return byte < begin + size ? std::span(begin, size) : std::span<const std::byte>{};
}

}  // namespace course::heap_blocks

// The other forms of the standard library's call these.

void* operator new(std::size_t size) {
  return course::heap_blocks::note(course::heap_blocks::allocate(size), size);
}

void operator delete(void* block) noexcept {
  course::heap_blocks::forget(block);
  std::free(block);
}

void operator delete(void* block, std::size_t) noexcept {
  operator delete(block);
}

#endif
