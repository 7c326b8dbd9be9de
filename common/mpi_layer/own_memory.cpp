#include "mpi_layer/own_memory.hpp"

#include <cstddef>
#include <vector>

namespace course::mpi_layer {

namespace {

constexpr std::size_t touched_bytes = 8 << 20;
/// The longest buffer that is guarded.
constexpr std::size_t largest_block = 64 * 1024;

/// Never freed: operations that the library still uses own parts of it until the process ends.
std::pmr::memory_resource& make_pools() {
  auto& touched = *new std::vector<std::byte>(touched_bytes, std::byte{1});
  auto& from_touched = *new std::pmr::monotonic_buffer_resource(touched.data(), touched.size());
  return *new std::pmr::synchronized_pool_resource(
      {.max_blocks_per_chunk = 0, .largest_required_pool_block = largest_block}, &from_touched);
}

std::pmr::memory_resource& pools = make_pools();

}  // namespace

std::pmr::memory_resource& own_memory() {
  return pools;
}

}  // namespace course::mpi_layer
