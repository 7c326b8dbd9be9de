#include "judge/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "../common/complaint.hpp"

namespace course {

namespace {

TEST(ForEachInParallel, MakesEveryCallOnce) {
  for (const std::size_t count : {0, 1, 2, 3, 1000}) {
    std::vector<int> calls(count);
    for_each_in_parallel(count, [&](std::size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(count, 1));
  }
}

TEST(ForEachInParallel, VisitsRowsOfAnyLength) {
  const std::vector<std::size_t> counts{2, 0, 5, 1};
  std::vector<std::vector<int>> calls;
  for (const std::size_t count : counts) calls.emplace_back(count);
  for_each_in_parallel(counts, [&](std::size_t i, std::size_t j) { ++calls[i][j]; });
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(calls[i], std::vector<int>(counts[i], 1));
}

TEST(ForEachInParallel, ThrowsWhatACallThrewAndBeginsNoMore) {
  std::atomic<int> begun = 0;
  EXPECT_EQ(complaint_of<std::runtime_error>([&] {
              for_each_in_parallel(1000000, [&](std::size_t i) {
                ++begun;
                if (i == 3) throw std::runtime_error("the fourth");
              });
            }),
            "the fourth");
  EXPECT_LT(begun, 1000000);
}

}  // namespace

}  // namespace course
