#include "grader/beside.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "course/handout/git.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program::grader {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

/// A course whose contract has changed since a handout was made of it, and the submission of a student who
/// has that handout and edited a test.
class OlderHandout : public testing::Test {
 protected:
  void SetUp() override {
    write_text(root() / contract, "of today\n");
    write_text(root() / judge, "the course's\n");
    write_text(submission() / contract, "of last year\n");
    write_text(submission() / judge, "the student's\n");
  }

  /// Gives the course its history.
  void commit_all() const {
    git(root(), {"init", "--quiet"});
    for (const char* text : {"of last year\n", "of today\n"}) {
      write_text(root() / contract, text);
      git(root(), {"add", "--all"});
      git(root(), {"commit", "--quiet", "--message", text});
    }
  }

  Edits edits_from(const fs::path& course) const { return edits_beside(Checkout{course, {}}, submission()); }

  static void expect_edited_test_alone(const Edits& edits) {
    EXPECT_EQ(edits.paths, Paths{judge});
    EXPECT_EQ(edits_in_words(edits), std::string("edited beside the answer, without effect: ") + judge);
  }

  static void expect_no_accusation(const Edits& edits) {
    EXPECT_EQ(edits.paths, (Paths{contract, judge}));
    EXPECT_EQ(edits_in_words(edits),
              std::string("differs from today's course, without effect: ") + contract + ", " + judge);
  }

  fs::path root() const { return temporary_.path() / "course"; }
  fs::path submission() const { return temporary_.path() / "ada"; }

  static constexpr const char* contract = "common/contract.hpp";
  static constexpr const char* judge = "tests/01_safe_softmax/judge.cpp";
  const TemporaryFolder temporary_;
};

class OlderHandoutAndGit : public OlderHandout {
 protected:
  void SetUp() override {
    if (find_program("git").empty()) GTEST_SKIP() << "there is no git";
    OlderHandout::SetUp();
    commit_all();
  }
};

TEST_F(OlderHandoutAndGit, IsKnownByTheCoursesCommits) {
  expect_edited_test_alone(edits_from(root()));
}

TEST_F(OlderHandoutAndGit, IsKnownWhereGitWarns) {
  setenv("GIT_TRACE", "1", 1);  // git prints to stderr what it does
  const Edits edits = edits_from(root());
  unsetenv("GIT_TRACE");
  expect_edited_test_alone(edits);
}

TEST_F(OlderHandoutAndGit, IsNoEditOfTheStudentsWhereTheHistoryIsCutOff) {
  const fs::path clone = temporary_.path() / "clone";
  git(temporary_.path(), {"clone", "--quiet", "--depth", "1", "file://" + root().string(), clone});
  expect_no_accusation(edits_from(clone));
}

TEST_F(OlderHandoutAndGit, IsNoEditOfTheStudentsWhereTheHistoryIsAnothers) {
  const fs::path inside = root() / "theirs";
  write_text(inside / contract, "of today\n");
  write_text(inside / judge, "the course's\n");
  expect_no_accusation(edits_from(inside));
}

TEST_F(OlderHandout, IsNoEditOfTheStudentsWhereThereIsNoHistory) {
  expect_no_accusation(edits_from(root()));
}

TEST_F(OlderHandoutAndGit, MayHoldASecondAnswerWhichIsNotGraded) {
  LessonInfo lesson;
  lesson.id = "01";
  lesson.name = "safe_softmax";
  lesson.files = {"safe_softmax.cpp"};
  write_text(submission() / "lessons/01_safe_softmax/safe_softmax.cpp", "graded\n");
  const auto edits = [&] { return edits_beside(Checkout{root(), {lesson}}, submission()).paths; };
  write_text(submission() / "safe_softmax.cpp", "graded\r\n");
  EXPECT_EQ(edits(), Paths{judge});
  write_text(submission() / "safe_softmax.cpp", "another\n");
  EXPECT_EQ(edits(), (Paths{"safe_softmax.cpp", judge}));
  fs::remove(submission() / "lessons/01_safe_softmax/safe_softmax.cpp");
  EXPECT_EQ(edits(), Paths{judge});
}

TEST_F(OlderHandout, OfTodayHasNothingToSay) {
  fs::copy_file(root() / contract, submission() / contract, fs::copy_options::overwrite_existing);
  fs::copy_file(root() / judge, submission() / judge, fs::copy_options::overwrite_existing);
  const Edits edits = edits_from(root());
  EXPECT_TRUE(edits.paths.empty() && edits.are_certain);
}

}  // namespace
}  // namespace course::program::grader
