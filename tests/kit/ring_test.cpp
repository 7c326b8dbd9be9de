#include <gtest/gtest.h>

#include "judge/attention/ring/ring_forward.hpp"
#include "judge/program/session.hpp"
#include "protocol/fact_kinds.hpp"

namespace course {

namespace {

/// A toy lesson's ring, whose contract says that blocks travel to rank - 1.
Task toy_task(const std::string& function) {
  Task task = ring_forward::task(function, function);
  task.direction = -1;
  for (const char* id : {"wrong_direction", "owner_off", "one_block_short", "own_block_every_time"})
    task.descriptions[id] = "as its name says";
  task.communication_checks = ring_forward::blocking_checks();
  return task;
}

/// How a function of the toy lesson is judged, by the number of ranks.
std::map<int, TestVerdict> verdicts_of(const std::string& function) {
  const Task task = toy_task(function);
  std::vector<GradedTest> tests;
  for (const int ranks : {1, 2, 3, 4}) tests.push_back({&task, ranks});
  Session session{
      tests, Launcher({.subject = SUBJECT, .player = {PLAYER_MPI}, .mpi = true}), {.must_be_sharp = true}};
  session.play();
  std::map<int, TestVerdict> verdicts;
  for (const PlayedTest& test : session.first.tests) verdicts[test.test->ranks] = test.verdict;
  return verdicts;
}

using Status = TestVerdict::Status;

TEST(RingToPrevious, IsRight) {
  for (const auto& [ranks, verdict] : verdicts_of("ring_to_previous"))
    EXPECT_EQ(verdict.status, Status::Passed) << ranks << verdict.text;
}

/// Every mistake of the family that shows on three ranks has its name and its words.
TEST(RingToPrevious, HasItsMistakesNamed) {
  struct Wrong {
    const char* function;
    std::set<std::string> mistakes;
    const char* words;
  };
  for (const auto& [function, mistakes, words] :
       {Wrong{"ring_to_next", {"wrong_direction"}, "to rank 1; it should send to rank 2 only"},
        Wrong{"owner_off",
              {"owner_off"},
              "block.accumulate was told that the block is rank 2's; it is rank 1's"},
        Wrong{"one_block_short",
              {"one_block_short"},
              "rank 0 attended to 2 of 3 blocks; that of rank 2 is missing"},
        Wrong{"own_block_every_time", {"own_block_every_time"}, ""}}) {
    const TestVerdict verdict = verdicts_of(function).at(3);
    EXPECT_EQ(verdict.status, Status::Failed) << function;
    EXPECT_EQ(verdict.mistakes, mistakes) << function << verdict.text;
    EXPECT_NE(verdict.text.find(words), std::string::npos) << function << verdict.text;
  }
}

/// Also where the other ranks wait for the one that threw, which comes to no end.
TEST(RingToPrevious, TellsTheFactThatWasThrown) {
  const TestVerdict verdict = verdicts_of("ranges_left_out").at(3);
  EXPECT_EQ(verdict.status, Status::Failed);
  EXPECT_EQ(verdict.fact, fact_ranges_of_other_queries) << verdict.text;
}

}  // namespace

}  // namespace course
