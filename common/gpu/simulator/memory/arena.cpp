#include "gpu/simulator/memory/arena.hpp"

#include <sys/mman.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace course::gpu {

Arena::Arena(std::size_t bytes) : bytes_(bytes) {
  void* const mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    throw std::runtime_error("the simulated GPU cannot set " + std::to_string(bytes >> 20) +
                             " MiB of addresses aside: is the address space limited (ulimit -v)?");
  base_ = static_cast<std::byte*>(mapped);
}

void Arena::release(std::size_t offset, std::size_t bytes) {
  constexpr std::size_t page = 4096;
  const std::size_t first = offset / page * page;
  const std::size_t behind = (offset + bytes + page - 1) / page * page;
  if (madvise(base_ + first, behind - first, MADV_REMOVE) != 0)
    throw std::runtime_error("the simulated GPU cannot give memory back");
}

void Arena::clear(std::size_t offset, std::size_t bytes) {
  constexpr std::size_t most_kept = std::size_t{8} << 20;
  if (bytes > most_kept) return release(offset, bytes);
  std::memset(base_ + offset, 0, bytes);
}

void Arena::forbid(std::size_t offset, std::size_t bytes) {
  if (mprotect(base_ + offset, bytes, PROT_NONE) != 0)
    throw std::runtime_error("the simulated GPU cannot guard a stack");
}

}  // namespace course::gpu
