#include "player/heap_blocks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace course::heap_blocks {

namespace {

std::span<const std::byte> bytes_of(const std::vector<float>& numbers) {
  return std::as_bytes(std::span(numbers));
}

bool finds(const void* address, std::span<const std::byte> block) {
  const std::span<const std::byte> found = block_at(address);
  return found.data() == block.data() && found.size() == block.size();
}

TEST(HeapBlocks, HaveEveryAddressOfABlockAndNoOther) {
  begin();
  const std::vector<float> numbers(1000);
  EXPECT_TRUE(finds(&numbers[0], bytes_of(numbers)));
  EXPECT_TRUE(finds(&numbers[999], bytes_of(numbers)));
  EXPECT_TRUE(block_at(numbers.data() + 1000).empty());
  EXPECT_TRUE(block_at(nullptr).empty());
  end();
}

TEST(HeapBlocks, AreThoseOfTheWatchedFunctionAlone) {
  const std::vector<float> before(10);
  begin();
  EXPECT_TRUE(block_at(before.data()).empty());
  const std::vector<float> within(10);
  EXPECT_FALSE(block_at(within.data()).empty());
  end();
  EXPECT_TRUE(block_at(within.data()).empty());
}

TEST(HeapBlocks, AreGoneOnceTheyAreFreed) {
  begin();
  auto numbers = std::make_unique<std::vector<float>>(1000);
  const void* const address = numbers->data();
  EXPECT_FALSE(block_at(address).empty());
  numbers.reset();
  EXPECT_TRUE(block_at(address).empty());
  end();
}

TEST(HeapBlocks, AreNotedFromSeveralThreadsAtOnce) {
  begin();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (std::size_t size = 1; size <= 2000; ++size) {
          const std::vector<float> numbers(size);
          if (!finds(numbers.data(), bytes_of(numbers))) ADD_FAILURE() << size << " floats";
        }
      });
    }
  }
  end();
}

}  // namespace

}  // namespace course::heap_blocks
