#include "demo/watch.hpp"

#include <gtest/gtest.h>

namespace course::demo {
namespace {

RankSnapshot rank_in(Phase phase, const std::string& text = "") {
  RankSnapshot rank;
  rank.phase = phase;
  rank.case_index = 0;
  rank.text = text;
  return rank;
}

RankSnapshot waiting_for(int peer) {
  RankSnapshot rank = rank_in(Phase::Blocked);
  PendingOperation receive{};
  receive.kind = PendingOperation::Kind::Receive;
  receive.need = PendingOperation::Need::All;
  receive.peer = peer;
  receive.communicator = case_communicator;
  std::string("MPI_Recv").copy(receive.call, sizeof receive.call - 1);
  rank.pending = {receive};
  return rank;
}

class WatchTest : public testing::Test {
 protected:
  std::optional<std::string> look_after(double pause_s, const std::vector<RankSnapshot>& ranks) {
    now_ += std::chrono::duration_cast<Watch::Clock::duration>(std::chrono::duration<double>(pause_s));
    return watch_.look(ranks, now_);
  }
  /// Looks at the same every quarter of a second.
  std::optional<std::string> look_for(double seconds, const std::vector<RankSnapshot>& ranks) {
    for (double passed = 0; passed < seconds; passed += 0.25) {
      if (std::optional<std::string> reason = look_after(0.25, ranks)) return reason;
    }
    return std::nullopt;
  }
  Watch watch_{60};
  Watch::Clock::time_point now_ = Watch::Clock::now();
};

TEST_F(WatchTest, WaitsForComputeUntilItsPatienceEnds) {
  const std::vector<RankSnapshot> ranks{rank_in(Phase::Computing), rank_in(Phase::Finished)};
  EXPECT_FALSE(look_for(60, ranks));
  const std::optional<std::string> reason = look_for(1, ranks);
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("nothing has happened for 60 s"), std::string::npos) << *reason;
  EXPECT_NE(reason->find("outside MPI: 0"), std::string::npos) << *reason;
}

TEST_F(WatchTest, TakesEveryChangeForASignOfLife) {
  std::vector<RankSnapshot> ranks{rank_in(Phase::Computing), rank_in(Phase::Computing)};
  EXPECT_FALSE(look_for(59, ranks));
  ++ranks[1].completed;
  EXPECT_FALSE(look_for(59, ranks));
  ranks[0].text = "comparing, 10 %";
  EXPECT_FALSE(look_for(59, ranks));
  EXPECT_EQ(watch_.news(), "comparing, 10 %");
  ranks[1].phase = Phase::Finished;
  EXPECT_FALSE(look_for(59, ranks));
  EXPECT_TRUE(look_for(3, ranks));
}

TEST_F(WatchTest, DoesNotCountTheSleepOfTheMachine) {
  const std::vector<RankSnapshot> ranks{rank_in(Phase::Computing)};
  EXPECT_FALSE(look_for(30, ranks));
  EXPECT_FALSE(look_after(3600, ranks));
  EXPECT_FALSE(look_for(29, ranks));
  EXPECT_TRUE(look_for(2, ranks));
}

TEST_F(WatchTest, NamesRanksThatWaitForEachOther) {
  const std::vector<RankSnapshot> ranks{waiting_for(1), waiting_for(0)};
  EXPECT_FALSE(look_after(0, ranks));
  const std::optional<std::string> reason = look_for(3, ranks);
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("stands still"), std::string::npos) << *reason;
  EXPECT_NE(reason->find("MPI_Recv"), std::string::npos) << *reason;
}

TEST_F(WatchTest, NamesTheRankThatThrewOrDied) {
  EXPECT_EQ(look_after(0, {rank_in(Phase::Computing), rank_in(Phase::Threw, "too few tokens")}),
            "rank 1 threw: too few tokens");
  RankSnapshot dead = rank_in(Phase::Crashed);
  dead.signal = 11;
  dead.receives = 2;
  const std::string reason = look_after(0, {dead}).value_or("none");
  EXPECT_NE(reason.find("rank 0 died of signal 11"), std::string::npos) << reason;
  EXPECT_NE(reason.find("2 receives"), std::string::npos) << reason;
}

}  // namespace
}  // namespace course::demo
