#include <gtest/gtest.h>

#include <stdexcept>

#include "judge/candidates/candidates.hpp"

namespace course {

namespace {

using Status = TestVerdict::Status;

/// Task 1 on two world sizes and task 2 on one rank.
class Expectations : public testing::Test {
 protected:
  Expectations() {
    one_.id = "1";
    two_.id = "2";
    lesson_.id = "09";
    lesson_.mistakes = {{"deadlock", {"1"}, "instrument", "", ""},
                        {"off", {"1", "2"}, "answer", "", ""},
                        {"other", {"2"}, "answer", "", ""}};
  }

  static TestVerdict verdict(Status status, std::set<std::string> mistakes = {}) {
    return {status, "", std::move(mistakes), nullptr};
  }

  void round(std::vector<TestVerdict> verdicts) {
    Round& made = rounds_.emplace_back(Round{rounds_.size() + 1});
    for (std::size_t i = 0; i < tests_.size(); ++i)
      made.tests.push_back({.test = &tests_[i], .verdict = std::move(verdicts.at(i))});
  }

  bool holds(const std::string& expected) const {
    return Expectation{expected}.unmet(rounds_, lesson_).empty();
  }

  std::string text_of(const std::string& expected) const {
    return check_expectation(expected, rounds_, lesson_).text;
  }

  const TestVerdict passed = verdict(Status::Passed);
  const TestVerdict failed = verdict(Status::Failed);
  const TestVerdict not_played = verdict(Status::NotPlayed);
  const TestVerdict deadlock = verdict(Status::Failed, {"deadlock"});

 private:
  Task one_, two_;
  const std::vector<GradedTest> tests_{{&one_, 1}, {&one_, 3}, {&two_, 0}};
  LessonInfo lesson_;
  std::vector<Round> rounds_;
};

TEST_F(Expectations, SayInWhichTestsAMistakeWasNamed) {
  round({failed, deadlock, passed});
  EXPECT_EQ(text_of("mistake:deadlock"),
            "failed without a name: 1.ranks1; named deadlock: 1.ranks3; passed: 2\n"
            "as expected: mistake:deadlock\n");
  round({failed, not_played, passed});
  EXPECT_NE(text_of("mistake:other").find("passed: 2\nexpected mistake:other, but "), std::string::npos);
  EXPECT_TRUE(text_of("pass").starts_with("expected pass, but "));
}

TEST_F(Expectations, JudgeWhatIsPlayedAfterAStandstill) {
  round({passed, deadlock, passed});
  round({passed, not_played, passed});
  EXPECT_TRUE(holds("mistake:deadlock"));
  EXPECT_TRUE(holds("mistakes:deadlock,off"));
  round({passed, not_played, verdict(Status::Failed, {"other"})});
  EXPECT_FALSE(holds("mistake:deadlock"));
  EXPECT_FALSE(holds("mistakes:deadlock,off"));
}

TEST_F(Expectations, AskOfEveryTaskThatWasPlayedWhole) {
  const TestVerdict off = verdict(Status::Failed, {"off"});
  round({off, off, off});
  round({off, not_played, off});
  EXPECT_TRUE(holds("mistake:off"));
  round({passed, not_played, passed});  // task 2 passes
  EXPECT_FALSE(holds("mistake:off"));
}

TEST_F(Expectations, AskOfALaterSeedThatWasPlayedWholeWhatTheyAskOfTheFirst) {
  round({passed, deadlock, passed});
  round({passed, passed, passed});
  EXPECT_FALSE(holds("mistake:deadlock"));
  EXPECT_FALSE(holds("mistakes:deadlock,off"));
}

TEST_F(Expectations, WantANameWithTheFirstSeed) {
  round({passed, failed, passed});
  EXPECT_FALSE(holds("mistake:deadlock"));
  EXPECT_TRUE(holds("mistakes:deadlock,off"));
}

TEST_F(Expectations, OfAnAnswerToFailSayHowItIsNamed) {
  round({failed, deadlock, passed});
  EXPECT_EQ(text_of("fails:deadlock,off"),
            "failed without a name: 1.ranks1; named deadlock: 1.ranks3; passed: 2\n"
            "as expected: fails:deadlock,off, and is named\n");
  EXPECT_TRUE(text_of("fails").ends_with("\nas expected: fails, and is misnamed deadlock\n"));
  EXPECT_TRUE(text_of("fails:off").ends_with("\nas expected: fails:off, and is misnamed deadlock\n"));
  EXPECT_THROW(holds("fails:unknown"), std::invalid_argument);
  EXPECT_THROW(holds("failsafe"), std::invalid_argument);
}

TEST_F(Expectations, OfAnAnswerToFailHoldWithoutAName) {
  round({passed, failed, passed});
  EXPECT_TRUE(text_of("fails:off").ends_with("\nas expected: fails:off, and has no name\n"));
}

TEST_F(Expectations, OfAnAnswerToFailAskForAFailure) {
  round({passed, passed, passed});
  EXPECT_FALSE(holds("fails"));
  EXPECT_FALSE(holds("fails:off"));
  EXPECT_TRUE(text_of("fails").starts_with("passed: 1.ranks1 1.ranks3 2\nexpected fails, but "));
}

TEST_F(Expectations, OfAnAnswerToFailTellTwoNamesFromOne) {
  round({verdict(Status::Failed, {"off"}), deadlock, verdict(Status::Failed, {"off", "other"})});
  EXPECT_TRUE(text_of("fails:off").ends_with(", and is misnamed deadlock, other\n"));
  EXPECT_TRUE(text_of("fails:off,deadlock,other").ends_with(", and is named\n"));
}

TEST_F(Expectations, TakeNoTestThatWasNotPlayedForPassed) {
  round({passed, not_played, passed});
  EXPECT_FALSE(holds("pass"));
  EXPECT_FALSE(holds("todo"));
}

TEST_F(Expectations, PassWithEverySeed) {
  round({passed, passed, passed});
  EXPECT_TRUE(holds("pass"));
  round({passed, passed, failed});
  EXPECT_FALSE(holds("pass"));
  EXPECT_THROW(holds("passed"), std::invalid_argument);
  EXPECT_THROW(holds("mistake:unknown"), std::invalid_argument);
}

}  // namespace

}  // namespace course
