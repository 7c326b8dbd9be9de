#include <gtest/gtest.h>

#include "course/selftest/test_run.hpp"

namespace course::program {

namespace {

using Outcome = TestRow::Outcome;

/// The rows that some lines of `ctest -V` make.
std::vector<TestRow> rows_of(const std::vector<std::string>& lines) {
  CtestOutput output;
  std::vector<TestRow> rows;
  for (const std::string& line : lines) {
    if (const std::optional<TestRow> row = output.add(line)) rows.push_back(*row);
  }
  return rows;
}

TEST(CtestOutput, GivesEachTestWhatItPrinted) {
  const std::vector<TestRow> rows = rows_of(
      {"test 1", "    Start   1: a.b", "", "1: Test command: /bin/a \"b\"", "1: Working Directory: /tmp",
       "1: Test timeout computed to be: 300", "    Start  12: c+d", "12: Test command: /bin/c", "1: hello",
       "12: from c", "1: 12: not from c", "  1/2 Test   #1: a.b ..............   Passed    0.25 sec",
       "  2/2 Test  #12: c+d ..............***Failed   12.50 sec"});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "a.b");
  EXPECT_EQ(rows[0].outcome, Outcome::Passed);
  EXPECT_EQ(rows[0].output, "hello\n12: not from c\n");
  EXPECT_DOUBLE_EQ(rows[0].seconds, 0.25);
  EXPECT_EQ(rows[1].name, "c+d");
  EXPECT_EQ(rows[1].outcome, Outcome::Failed);
  EXPECT_EQ(rows[1].reason, "Failed");
  EXPECT_EQ(rows[1].output, "from c\n");
  EXPECT_DOUBLE_EQ(rows[1].seconds, 12.5);
}

TEST(CtestOutput, KnowsEveryWayToEnd) {
  const std::vector<TestRow> rows =
      rows_of({"3: checking", "3: no gpu here",
               "1/5 Test #3: skips ............................***Skipped   0.00 sec",
               "2/5 Test #4: is.slow ...........................***Timeout  300.01 sec",
               "3/5 Test #5: crashes ...........................***Exception: SegFault  0.10 sec",
               "    Start 6: is_missing", "Could not find executable /nonexistent",
               "4/5 Test #6: is_missing ........................***Not Run   0.00 sec",
               "5/5 Test #7: a.name.that.fills.the.whole.column.***Failed    1.00 sec"});
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].outcome, Outcome::Skipped);
  EXPECT_EQ(rows[0].reason, "no gpu here");
  EXPECT_EQ(rows[1].outcome, Outcome::Failed);
  EXPECT_EQ(rows[1].reason, "Timeout");
  EXPECT_EQ(rows[2].reason, "Exception: SegFault");
  EXPECT_EQ(rows[3].outcome, Outcome::Failed);
  EXPECT_EQ(rows[3].reason, "Not Run");
  EXPECT_EQ(rows[3].output, "Could not find executable /nonexistent\n");
  EXPECT_EQ(rows[4].name, "a.name.that.fills.the.whole.column");
  EXPECT_EQ(rows[4].outcome, Outcome::Failed);
}

TEST(CtestOutput, IsNotFooledByWhatATestPrints) {
  const std::vector<TestRow> rows = rows_of({"1: 1/2 Test #1: a.b ......   Passed    0.25 sec"});
  EXPECT_TRUE(rows.empty());
}

TEST(Costs, AreReadUpToTheFailures) {
  const std::map<std::string, double> costs = parse_costs("a.b 2 1.5\nc+d 0 0\n---\nc+d\n");
  EXPECT_EQ(costs, (std::map<std::string, double>{{"a.b", 1.5}}));
}

TEST(Estimate, GoesByEarlierRunsAndElseByItsKindsAverage) {
  std::vector<std::string> tests{"long.1",  "long.2", "long.3",   "long.4",
                                 "brief.5", "slow",   "long.new", "brief.new"};
  Estimate estimate(tests, {{"slow", 30.0}});
  for (int i = 0; i < 4; ++i) estimate.finished(tests[static_cast<std::size_t>(i)], 2.0);
  EXPECT_LT(estimate.left(8), 0);
  estimate.finished("brief.5", 1.0);
  // Two tests at a time: 9 seconds of tests took 4.5. Left are 30, 2 and 1.
  EXPECT_DOUBLE_EQ(estimate.left(4.5), 16.5);
}

TEST(Estimate, TakesAKindOfWhichNothingIsKnownForBrief) {
  Estimate estimate({"long.1", "long.2", "long.3", "long.4", "long.5", "others.1", "others.2"}, {});
  for (const char* test : {"long.1", "long.2", "long.3", "long.4", "long.5"}) estimate.finished(test, 20.0);
  EXPECT_DOUBLE_EQ(estimate.left(100), 0.5);
}

}  // namespace

}  // namespace course::program
