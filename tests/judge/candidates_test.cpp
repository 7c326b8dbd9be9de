#include "judge/candidates/candidates.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "../common/complaint.hpp"
#include "runner/temporary_folder.hpp"

namespace course {

namespace {

std::vector<Candidate> read(const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "candidates") << text;
  return listed_candidates(folder.path() / "candidates");
}

TEST(Candidates, AreReadLineByLine) {
  const std::vector<Candidate> all = read(
      "mutant.lesson05.wrong\tlib/wrong.so\tmistake:wrong\tpublic\tmutant.wrong\n"
      "variant.lesson05.right\tlib/right.so\tpass\thidden\t-\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "mutant.lesson05.wrong");
  EXPECT_EQ(all[0].subject, "lib/wrong.so");
  EXPECT_EQ(all[0].expect, "mistake:wrong");
  EXPECT_FALSE(all[0].hidden);
  EXPECT_EQ(all[0].ledger_entry, "mutant.wrong");
  EXPECT_TRUE(all[1].hidden);
  EXPECT_EQ(all[1].ledger_entry, "");
}

TEST(Candidates, AreRefusedWithTheLine) {
  for (const char* line : {"name\tsubject\tpass\tpublic\n", "name\tsubject\tpass\tsecret\t-\n", "\n"}) {
    EXPECT_TRUE(mentions(complaint_of<std::runtime_error>([&] { read(line); }), "hidden or public")) << line;
  }
  EXPECT_THROW(listed_candidates("/nonexistent"), std::runtime_error);
}

/// A task that counts how often its answers are worked out.
struct Counting {
  int truths = 0, mistakes = 0;
  Task task() {
    Task made;
    made.expected = made.baseline = [this](const Example&) {
      return Answer{{"o", Tensor64({1}, std::vector<double>(1, ++truths))}};
    };
    made.mistakes = {{"known", [this](const Example&) {
                        ++mistakes;
                        return Answer{{"o", Tensor64({1})}};
                      }}};
    return remembering(made);
  }
};

TEST(Remembering, WorksOutAnExampleOnce) {
  Counting counting;
  const Task task = counting.task();
  Example example{"some input", {}};
  example.worked = std::make_shared<WorkedOut>();
  const double first = task.expected(example).at("o")[0];
  EXPECT_EQ(task.expected(example).at("o")[0], first);
  task.mistakes[0].answer(example);
  task.mistakes[0].answer(example);
  EXPECT_EQ(counting.truths, 1);
  EXPECT_EQ(counting.mistakes, 1);
  EXPECT_NE(task.baseline(example).at("o")[0], first) << "another function's answer";
}

TEST(Remembering, IsAskedFor) {
  Counting counting;
  const Task task = counting.task();
  Example example{"some input", {}};
  task.expected(example);
  task.expected(example);
  EXPECT_EQ(counting.truths, 2) << "nothing was to be kept";
}

}  // namespace

}  // namespace course
