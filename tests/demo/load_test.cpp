#include "demo/load.hpp"

#include <gtest/gtest.h>

#include "ring/shards.hpp"

namespace course::demo {
namespace {

const reference::Mask causal = reference::Mask::causal();

TEST(Scores, AreThoseThatTheMaskShowsOfTheBlockHeld) {
  EXPECT_EQ(scores_by_step(Layout({2, 0, 2}), causal), (WorkTable{{3, 0, 0}, {0, 0, 0}, {3, 0, 4}}));
  EXPECT_EQ(scores_by_step(Layout({2, 0, 2}), {}), (WorkTable{{4, 4, 0}, {0, 0, 0}, {4, 0, 4}}));
  EXPECT_EQ(scores_by_step(Layout::named("zigzag", 20, 3), causal),
            (WorkTable{{28, 18, 21}, {28, 28, 18}, {21, 24, 24}}));
}

TEST(SlowestSteps, AreTwoLessOneOverThePOfContiguousShards) {
  EXPECT_NEAR(slowest_steps(scores_by_step(Layout::named("contiguous", 4000, 4), causal)), 2 - 1 / 4., 1e-3);
  EXPECT_NEAR(slowest_steps(scores_by_step(Layout::named("contiguous", 4000, 8), causal)), 2 - 1 / 8., 1e-3);
  EXPECT_NEAR(slowest_steps(scores_by_step(Layout::named("striped", 4000, 4), causal)), 1, 1e-3);
  EXPECT_EQ(slowest_steps(scores_by_step(Layout::named("zigzag", 4000, 4), causal)), 1);
  EXPECT_DOUBLE_EQ(slowest_steps(scores_by_step(Layout::named("zigzag", 20, 3), causal)), 80 / 70.);
}

TEST(SlowestSteps, AreOneOfOneRankAndAllOfOneThatDoesAll) {
  EXPECT_EQ(slowest_steps({{5}}), 1);
  EXPECT_EQ(slowest_steps({{1, 2, 3}, {0, 0, 0}, {0, 0, 0}}), 3);
  EXPECT_EQ(slowest_steps({{0, 0}, {0, 0}}), 0);
}

TEST(Seconds, AreByTheStepAtWhichABlockIsHeld) {
  std::vector<RankRecord> ranks(3);
  ranks[0].call.blocks = {{0, 1}, {2, 2}, {1, 4}};
  ranks[1].call.blocks = {{1, 8}, {1, 16}};
  ranks[2].call.blocks = {{0, 32}};
  EXPECT_EQ(seconds_by_step(ranks, ring_owners(3)), (WorkTable{{1, 2, 4}, {24, 0, 0}, {0, 0, 32}}));
  EXPECT_EQ(seconds_by_step(ranks, {{0}, {0, 1}, {2, 1, 0}}), (WorkTable{{7, 0, 0}, {0, 24, 0}, {0, 0, 32}}));
}

}  // namespace
}  // namespace course::demo
