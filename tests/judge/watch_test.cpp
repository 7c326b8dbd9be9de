#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "runner/launch_monitor.hpp"

namespace course {

namespace {

/// What is said of ranks that are all in that phase once nothing has happened for longer than the limit, 0 s.
std::string said_of(Phase phase, int ranks) {
  std::vector<int> world_ranks(static_cast<std::size_t>(ranks));
  RankSnapshot snapshot;
  snapshot.phase = phase;
  snapshot.case_index = 0;
  if (phase == Phase::Threw) snapshot.text = "no idea";
  for (int rank = 0; rank < ranks; ++rank) world_ranks[static_cast<std::size_t>(rank)] = rank;
  const std::vector<std::vector<int>> cases{world_ranks};
  LaunchMonitor watch(cases, 0, getpid());
  while (true) {
    const std::optional<Outcome> outcome = watch.look({static_cast<std::size_t>(ranks), snapshot});
    if (outcome) return outcome->text;
  }
}

TEST(LaunchMonitor, NamesNoRankWhereThereIsOne) {
  EXPECT_EQ(said_of(Phase::Computing, 1), "stuck in compute: nothing happened for 0 s");
  EXPECT_EQ(said_of(Phase::Computing, 2), "stuck in compute: nothing happened for 0 s (rank 0, 1)");
  EXPECT_EQ(said_of(Phase::Threw, 1), "threw: no idea");
  EXPECT_EQ(said_of(Phase::Threw, 2), "rank 0 threw: no idea");
  EXPECT_EQ(said_of(Phase::Starting, 1),
            "stuck, in compute or in MPI: nothing happened for 0 s (no report; a status page would tell "
            "where it is)");
  EXPECT_EQ(
      said_of(Phase::Starting, 2),
      "stuck, in compute or in MPI: nothing happened for 0 s (no report from rank 0, 1; a status page would "
      "tell where they are)");
}

/// A rank that waits in MPI for the other of two.
RankSnapshot waiting(PendingOperation::Kind kind, int peer) {
  RankSnapshot rank;
  rank.phase = Phase::Blocked;
  rank.case_index = 0;
  rank.pending = {{kind, PendingOperation::Need::All, peer, 1, 1 << 20, case_communicator, "MPI_Sendrecv"}};
  return rank;
}

/// How a launch ended in which a rank sends what another receives, and nothing has moved for half a second.
std::optional<Outcome> end_of_slow_message(double deadlock_patience_s) {
  const std::vector<std::vector<int>> cases{{0, 1}};
  LaunchMonitor watch(cases, 60, getpid(), deadlock_patience_s);
  const std::vector<RankSnapshot> ranks{waiting(PendingOperation::Kind::Send, 1),
                                        waiting(PendingOperation::Kind::Receive, 0)};
  watch.look(ranks);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  return watch.look(ranks);
}

TEST(LaunchMonitor, LetsAMessageTravelAsLongAsItIsToldTo) {
  EXPECT_FALSE(end_of_slow_message(30).has_value());
  const std::optional<Outcome> ended = end_of_slow_message(0.1);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->ending, Outcome::Ending::Deadlock);
}

TEST(LaunchMonitor, NamesTheCrashThatOthersWaitFor) {
  const std::vector<std::vector<int>> cases{{1, 0}};  // rank 0 of the case is the world's rank 1
  LaunchMonitor watch(cases, 60, getpid(), deadlock_s);
  RankSnapshot crashed;
  crashed.phase = Phase::Crashed;
  crashed.case_index = 0;
  crashed.signal = SIGSEGV;
  const std::vector<RankSnapshot> world{waiting(PendingOperation::Kind::Receive, 0), crashed};
  watch.look(world);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::optional<Outcome> ended = watch.look(world);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->ending, Outcome::Ending::Crashed);
  EXPECT_EQ(ended->text, "rank 0 died of signal 11 (Segmentation fault) before any receive");
}

TEST(LaunchMonitor, EndsACaseInWhichSomethingHappensForEver) {
  const std::vector<std::vector<int>> cases{{0, 1}, {0, 1}};
  constexpr double quiet_limit_s = 60;
  constexpr double case_limit_s = 0.5;
  LaunchMonitor watch(cases, quiet_limit_s, getpid(), deadlock_s, {case_limit_s, case_limit_s});
  RankSnapshot computing = waiting(PendingOperation::Kind::Receive, 1);
  computing.phase = Phase::Computing;
  RankSnapshot polling = computing;
  polling.phase = Phase::Polling;
  EXPECT_FALSE(watch.look({computing, polling}).has_value());
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  computing.case_index = polling.case_index = 1;
  EXPECT_FALSE(watch.look({computing, polling}).has_value()) << "of the case before";
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  ++polling.completed;
  const std::optional<Outcome> ended = watch.look({computing, polling});
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->ending, Outcome::Ending::Stuck);
  EXPECT_EQ(
      ended->text,
      "not done after 0 s, though something happened all the time: rank 0 in compute; rank 1 in tests of "
      "MPI that find nothing");
}

/// A rank that computes and tells how far it is.
RankSnapshot telling(const std::string& text, int case_index) {
  RankSnapshot rank;
  rank.phase = Phase::Computing;
  rank.case_index = case_index;
  rank.text = text;
  return rank;
}

TEST(LaunchMonitor, TakesNoRankThatTellsItsProgressForAStuckOne) {
  const std::vector<std::vector<int>> cases{{0}};
  LaunchMonitor watch(cases, 0.3, getpid());
  for (int step = 0; step < 8; ++step) {
    EXPECT_FALSE(watch.look({telling("step " + std::to_string(step), 0)}).has_value()) << step;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const std::optional<Outcome> ended = watch.look({telling("step 7", 0)});
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->text, "stuck in compute: nothing happened for 0 s; the function came as far as step 7");
}

TEST(LaunchMonitor, EndsEachCaseByItsOwnLimit) {
  const std::vector<std::vector<int>> cases{{0}, {0}};
  LaunchMonitor watch(cases, 60, getpid(), deadlock_s, {60, 0.2});
  watch.look({telling("step 1", 0)});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(watch.look({telling("step 2", 0)}).has_value());
  EXPECT_FALSE(watch.look({telling("", 1)}).has_value());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::optional<Outcome> ended = watch.look({telling("step 1 of 9, loss 2.31", 1)});
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(
      ended->text,
      "not done after 0 s, though something happened all the time: in compute; the function came as far "
      "as step 1 of 9, loss 2.31");
}

}  // namespace

}  // namespace course
