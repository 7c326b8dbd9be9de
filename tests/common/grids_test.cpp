#include "judge/attention/grids/grids.hpp"

#include <gtest/gtest.h>

#include "judge/diagnosis/diagnose.hpp"

namespace course::grids {

namespace {

using Kind = RankStep::Kind;

/// So many nodes of two; blocks of one token, 16 bytes. Rank 0 sends inside to 1 and on to 2.
Example in_pairs(int nodes) {
  InputGenerator generator(18);
  return in_nodes(generator, 2, "equal shards", Layout(std::vector<int>(2 * nodes, 1)), {1, 1, 2, 2}, false);
}

/// What is told of rank 0's steps where the others do nothing.
std::string told(const std::vector<RankStep>& steps, int nodes = 2) {
  Outcome outcome;
  outcome.reports.resize(2 * nodes);
  outcome.facts.resize(2 * nodes);
  outcome.reports[0].steps = steps;
  std::string all;
  for (const CommunicationCheck& look : double_ring_task("6", "double_ring").communication_checks)
    for (const Finding& finding : look(in_pairs(nodes), outcome)) all += finding.text + ";" + finding.mistake;
  return all;
}

TEST(OrderOfADoubleRing, MayBeginWithEitherHop) {
  const RankStep inside{Kind::Sends, 1, 16}, on{Kind::Sends, 2, 16}, came{Kind::Has, 1, 16},
      entered{Kind::Has, 2, 16}, computes{};
  EXPECT_EQ(told({on, inside, computes, came, computes, entered}), "");
  EXPECT_EQ(told({inside, on, computes, came, entered}), "");
  EXPECT_EQ(told({on, inside, came, computes, entered}), "");
  EXPECT_EQ(told({}), "") << "nobody tells";
}

TEST(OrderOfADoubleRing, LetsABlockLeaveBeforeItsInnerRingEnds) {
  const RankStep inside{Kind::Sends, 1, 16}, on{Kind::Sends, 2, 16}, came{Kind::Has, 1, 16},
      entered{Kind::Has, 2, 16}, computes{};
  EXPECT_EQ(
      told({inside, computes, came, on, computes, entered}),
      "rank 0: the send to rank 2 began after the last inner hop of round 1; the block that entered the "
      "node can leave it at once;outer_sends_last_held");
  EXPECT_EQ(told({on, entered, inside, computes, came, computes}),
            "rank 0 waited for what rank 2 sends before it had computed on a block meanwhile;");
}

TEST(OrderOfADoubleRing, IsThatOfEveryRound) {
  const RankStep inside{Kind::Sends, 1, 16}, on{Kind::Sends, 2, 16}, came{Kind::Has, 1, 16},
      entered{Kind::Has, 4, 16}, computes{};
  EXPECT_EQ(told({on, inside, computes, came, computes, entered, on, inside, came, entered}, 3), "");
  EXPECT_EQ(
      told({on, inside, computes, came, computes, entered, inside, computes, came, on, entered}, 3),
      "rank 0: the send to rank 2 began after the last inner hop of round 2; the block that entered the "
      "node can leave it at once;outer_sends_last_held");
}

TEST(LayoutsOfGrids, CutEachBlockOfARing) {
  const Layout zigzag = layout_of(16, 2, 2, true);
  EXPECT_EQ(zigzag.positions(0), (std::vector<Index>{0, 1, 2, 3}));
  EXPECT_EQ(zigzag.positions(1), (std::vector<Index>{12, 13, 14, 15}));
  EXPECT_EQ(zigzag.positions(3), (std::vector<Index>{8, 9, 10, 11}));
  EXPECT_EQ(layout_of(7, 2, 2, false).shard_tokens(), (std::vector<int>{2, 2, 2, 1}));
}

}  // namespace

}  // namespace course::grids
