#include "judge/diagnosis/verdict.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "judge/numbers/origin.hpp"
#include "protocol/poison.hpp"
#include "sitting.hpp"

namespace course {

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
const std::string about_nan = "arithmetic made a NaN";

/// What is said of a player that returned `answer` where {1, 2, -inf} is right and {1, nan, -inf} is a known
/// mistake.
TestVerdict verdict_on(std::vector<float> answer) {
  Sitting sitting(task_of_o({1, 2, -infinity}, {{"known", {1, nan, -infinity}}}));
  Outcome outcome;
  outcome.ending = Outcome::Ending::Finished;
  const Index size = std::ssize(answer);
  outcome.outputs = {{{"o", Tensor({size}, std::move(answer))}}};
  sitting.play({"some input", {}}, std::move(outcome));
  return sitting.verdict();
}

bool says(const TestVerdict& verdict, const std::string& words) {
  return verdict.text.find(words) != std::string::npos;
}

TEST(Verdict, SaysWhereAnUnnamedNanMayComeFrom) {
  const TestVerdict verdict = verdict_on({nan, nan, -infinity});
  EXPECT_EQ(verdict.status, TestVerdict::Status::Failed);
  EXPECT_TRUE(verdict.mistakes.empty());
  EXPECT_TRUE(says(verdict, "o[row 0] is nan, should be 1")) << verdict.text;
  EXPECT_TRUE(says(verdict, about_nan)) << verdict.text;
}

TEST(Verdict, SaysNothingOfNanWhereTheMistakeIsNamed) {
  const TestVerdict verdict = verdict_on({1, nan, -infinity});
  EXPECT_EQ(verdict.mistakes, (std::set<std::string>{"known"}));
  EXPECT_FALSE(says(verdict, about_nan)) << verdict.text;
}

TEST(Verdict, SaysThatAnEntryWasNeverWrittenAndNamesNoMistakeThatWritesIt) {
  const TestVerdict verdict = verdict_on({1, poison::unwritten_output(), -infinity});
  EXPECT_TRUE(verdict.mistakes.empty());
  EXPECT_TRUE(says(verdict, "o[row 1] was never written, should be 2\n1 of 3 wrong")) << verdict.text;
  EXPECT_FALSE(says(verdict, about_nan)) << verdict.text;
}

TEST(Verdict, TellsWhatANanWasComputedFrom) {
  volatile float sum = poison::unwritten_output();
  sum = sum + 3;
  EXPECT_TRUE(
      says(verdict_on({1, sum, -infinity}), "o[row 1] is nan, computed from an entry that was never set"));
  sum = -std::bit_cast<float>(poison::open_receive);
  EXPECT_TRUE(
      says(verdict_on({1, sum, -infinity}), "o[row 1] is nan, read while its receive was still open"));
}

TEST(Origin, ArithmeticTellsWhatWasComputedFromWhatNobodyWrote) {
  volatile double entry = never_written();
  EXPECT_EQ(origin_of(entry), Origin::NeverWritten);
  EXPECT_EQ(origin_of(-entry), Origin::NeverWritten);
  EXPECT_EQ(origin_of(entry + 1.0), Origin::FromUnwritten);
  EXPECT_EQ(origin_of(0.0 * std::numeric_limits<double>::infinity()), Origin::Arithmetic);
}

TEST(Verdict, SaysNothingOfNanWhereThereIsNoneForANumber) {
  for (const std::vector<float>& answer : {std::vector<float>{1, 3, -infinity}, {1, 2, nan}, {1}}) {
    const TestVerdict verdict = verdict_on(answer);
    EXPECT_EQ(verdict.status, TestVerdict::Status::Failed);
    EXPECT_FALSE(says(verdict, about_nan)) << verdict.text;
  }
  EXPECT_EQ(verdict_on({1, 2, -infinity}).status, TestVerdict::Status::Passed);
}

}  // namespace

}  // namespace course
