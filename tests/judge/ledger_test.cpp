#include "judge/candidates/ledger.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "../common/complaint.hpp"
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
  Round round(TestVerdict first) const { return {1, {{.test = &tests_[0], .verdict = std::move(first)}}}; }
  Round round(TestVerdict first, TestVerdict second) const {
    return {1,
            {{.test = &tests_[0], .verdict = std::move(first)},
             {.test = &tests_[1], .verdict = std::move(second)}}};
  }

  void write(const std::string& text) const { std::ofstream(file_) << tests_of_lesson << text; }
  std::string text() const {
    std::ifstream file(file_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string differences(const Round& round, const std::set<std::string>& left_out = {}) const {
    return course::differences(read_ledger(file_), "mutant.off", round, left_out);
  }

  static constexpr const char* tests_of_lesson = "public\t1.ranks3 2\nhidden\n";
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
  write("mutant.off\tfailed: off\t1.ranks3\n");
  EXPECT_EQ(differences(round(off, passed)), "");
  EXPECT_EQ(differences(round(failed, passed)),
            "  1.ranks3: the ledger has: failed: off, and it came out as: failed\n");
  EXPECT_EQ(differences(round(off, failed)), "  2: the ledger has: passed, and it came out as: failed\n");
}

TEST_F(Ledgers, TakeAFailureThatAnEarlierOneHasEnded) {
  write("mutant.off\tfailed: off\t1.ranks3\n");
  EXPECT_EQ(differences(round(not_played, passed)), "");
  EXPECT_EQ(differences(round(off, not_played)), "  2: the ledger has: passed, and it came out as: failed\n");
}

TEST_F(Ledgers, MissWhatWasNotPlayed) {
  write("mutant.off\tfailed: off\t1.ranks3\n");
  EXPECT_EQ(differences(round(off)), "  2: the ledger has: passed, and it was not played\n");
  EXPECT_EQ(differences(round(off), {"1"}), differences(round(off)));
  EXPECT_EQ(differences(round(off), {"2"}), "");
}

TEST_F(Ledgers, MissWhatIsNotRecorded) {
  write("mutant.off\tfailed: off\t1.ranks3\nmutant.off\tpassed\t-\n");
  EXPECT_EQ(differences(round(off, passed)),
            "  2: the ledger does not have it, and it came out as: passed\n");
  EXPECT_NE(course::differences(read_ledger(file_), "mutant.new", round(off), {}), "");
}

TEST_F(Ledgers, TakeEitherOfTwoVerdicts) {
  write("mutant.off\tfailed | failed: off\t1.ranks3 2\n");
  EXPECT_EQ(differences(round(off, failed)), "");
  EXPECT_EQ(differences(round(off, not_played)), "") << "what an earlier case has ended has failed";
  EXPECT_EQ(differences(round(off, passed)),
            "  2: the ledger has: failed | failed: off, and it came out as: passed\n");
}

TEST_F(Ledgers, RecordOneLineForEqualVerdicts) {
  record(file_, "variant.other", round(passed, passed));
  record(file_, "mutant.off", round(off, passed));
  EXPECT_EQ(text(), tests_of_lesson +
                        std::string("mutant.off\tfailed: off\t1.ranks3\nvariant.other\tpassed\tpublic\n"));
}

TEST_F(Ledgers, RecordOnlyWhatDiffersAndForgetWhatIsNoLongerPlayed) {
  write("mutant.off\tfailed | failed: off\t1.ranks3\nmutant.off\tpassed\t2 3\n");
  record(file_, "mutant.off", round(off, passed));
  EXPECT_EQ(text(), tests_of_lesson + std::string("mutant.off\tfailed | failed: off\t1.ranks3\n"));
  record(file_, "mutant.off", round(passed, passed));
  EXPECT_EQ(text(), tests_of_lesson + std::string("mutant.off\tpassed\tpublic\n"));
  record(file_, "mutant.new", round(off));
  const Ledger before = read_ledger(file_);
  EXPECT_EQ(before.at("mutant.new").size(), 1) << "test 2 was not played";
  record(file_, "mutant.off", round(passed, passed));
  EXPECT_EQ(read_ledger(file_), before);
}

TEST_F(Ledgers, HoldTheTestsOnceForAllSubmissions) {
  std::ofstream(file_)
      << "public\t1 2 3\nhidden\t1.hidden\nmutant.off\tfailed: off\t2\nskeleton\ttodo\tpublic\n"
         "variant.other\tpassed\tall\n";
  using Verdicts = std::map<std::string, std::string>;
  EXPECT_EQ(read_ledger(file_),
            (Ledger{{"mutant.off", Verdicts{{"1", "passed"}, {"2", "failed: off"}, {"3", "passed"}}},
                    {"skeleton", Verdicts{{"1", "todo"}, {"2", "todo"}, {"3", "todo"}}},
                    {"variant.other",
                     Verdicts{{"1", "passed"}, {"1.hidden", "passed"}, {"2", "passed"}, {"3", "passed"}}}}));
}

TEST_F(Ledgers, SayWhichLineTheyCannotRead) {
  EXPECT_TRUE(read_ledger(file_).empty()) << "there is no file yet";
  write("mutant.off\tpassed\t1\nmutant.off passed 2\n");
  EXPECT_TRUE(
      mentions(complaint_of<std::runtime_error>([&] { read_ledger(file_); }), "lesson09.tsv:4: expected"));
  write("mutant.off\tpassed\t1\nmutant.off\tfailed\t1\n");
  EXPECT_THROW(read_ledger(file_), std::runtime_error);
}

}  // namespace

}  // namespace course
