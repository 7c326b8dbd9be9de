#include "judge/candidates/ledger.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "runner/temporary_folder.hpp"

namespace course {

namespace {

using Status = TestVerdict::Status;

class Ledgers : public testing::Test {
 protected:
  Ledgers() {
    one_.id = "1";
    two_.id = "2";
  }

  /// Task 1 on three ranks, and task 2 unless only `first` is given.
  JudgedRound round(TestVerdict first) const { return {1, {&tests_[0]}, {std::move(first)}}; }
  JudgedRound round(TestVerdict first, TestVerdict second) const {
    return {1, {&tests_[0], &tests_[1]}, {std::move(first), std::move(second)}};
  }

  void write(const std::string& text) const { std::ofstream(file_) << text; }
  std::string text() const {
    std::ifstream file(file_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string differences(const JudgedRound& round, bool complete = true) const {
    return Ledger(file_).differences("mutant.off", round, complete);
  }

  const TestVerdict passed{Status::Passed, "", {}, nullptr};
  const TestVerdict failed{Status::Failed, "", {}, nullptr};
  const TestVerdict off{Status::Failed, "", {"off"}, nullptr};
  const TestVerdict not_played{Status::NotPlayed, "", {}, nullptr};
  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "lesson09.tsv";

 private:
  Task one_, two_;
  const std::vector<GradedTest> tests_{{&one_, 3}, {&two_, 0}};
};

TEST_F(Ledgers, CompareEveryTest) {
  write("mutant.off\tfailed: off\t1.ranks3\nmutant.off\tpassed\t2\n");
  EXPECT_EQ(differences(round(off, passed)), "");
  EXPECT_EQ(differences(round(failed, passed)),
            "  1.ranks3: the ledger has: failed: off, and it came out as: failed\n");
  EXPECT_EQ(differences(round(off, failed)), "  2: the ledger has: passed, and it came out as: failed\n");
}

TEST_F(Ledgers, MissWhatWasNotPlayedOnlyWhereAllWas) {
  write("mutant.off\tfailed: off\t1.ranks3\nmutant.off\tpassed\t2\n");
  EXPECT_EQ(differences(round(off), false), "");
  EXPECT_EQ(differences(round(off)), "  2: the ledger has: passed, and it was not played\n");
}

TEST_F(Ledgers, MissWhatIsNotRecorded) {
  write("mutant.off\tfailed: off\t1.ranks3\n");
  EXPECT_EQ(differences(round(off, passed)),
            "  2: the ledger does not have it, and it came out as: passed\n");
  EXPECT_NE(Ledger(file_).differences("mutant.new", round(off), false), "");
}

TEST_F(Ledgers, TakeEitherOfTwoVerdicts) {
  write("mutant.off\tfailed | failed: off\t1.ranks3 2\n");
  EXPECT_EQ(differences(round(off, failed)), "");
  EXPECT_EQ(differences(round(off, not_played)), "") << "what an earlier case has ended has failed";
  EXPECT_EQ(differences(round(off, passed)),
            "  2: the ledger has: failed | failed: off, and it came out as: passed\n");
}

TEST_F(Ledgers, RecordOneLineForEqualVerdicts) {
  Ledger::record(file_, "variant.other", round(passed, passed), true);
  Ledger::record(file_, "mutant.off", round(off, passed), true);
  EXPECT_EQ(text(),
            "mutant.off\tfailed: off\t1.ranks3\nmutant.off\tpassed\t2\nvariant.other\tpassed\t1.ranks3 2\n");
}

TEST_F(Ledgers, RecordOnlyWhatWasPlayedAndDiffers) {
  write("mutant.off\tfailed | failed: off\t1.ranks3\nmutant.off\tpassed\t2 3\n");
  Ledger::record(file_, "mutant.off", round(off), false);
  EXPECT_EQ(text(), "mutant.off\tfailed | failed: off\t1.ranks3\nmutant.off\tpassed\t2 3\n");
  Ledger::record(file_, "mutant.off", round(passed, passed), true);
  EXPECT_EQ(text(), "mutant.off\tpassed\t1.ranks3 2\n");
}

TEST_F(Ledgers, SayWhichLineTheyCannotRead) {
  EXPECT_FALSE(Ledger(file_).has_lesson());
  write("mutant.off\tpassed\t1\nmutant.off passed 2\n");
  try {
    Ledger ledger(file_);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("lesson09.tsv:2: expected"), std::string::npos) << error.what();
  }
  write("mutant.off\tpassed\t1\nmutant.off\tfailed\t1\n");
  EXPECT_THROW(Ledger{file_}, std::runtime_error);
}

}  // namespace

}  // namespace course
