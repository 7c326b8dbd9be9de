#include "grader/submission.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program::grader {
namespace {

namespace fs = std::filesystem;

class TakeTest : public testing::Test {
 protected:
  TakeTest() {
    lesson_.id = "01";
    lesson_.name = "safe_softmax";
    lesson_.files = {"safe_softmax.cpp"};
  }
  fs::path flat() const { return temporary_.path() / "safe_softmax.cpp"; }
  fs::path deep() const { return temporary_.path() / "lessons" / "01_safe_softmax" / "safe_softmax.cpp"; }
  HandedIn taken() const { return take(temporary_.path(), lesson_); }
  void expect_refused(const std::string& why) const {
    const HandedIn handed_in = taken();
    EXPECT_TRUE(handed_in.texts.empty());
    EXPECT_NE(handed_in.refusal.find(why), std::string::npos) << handed_in.refusal;
  }

  TemporaryFolder temporary_;
  LessonInfo lesson_;
};

TEST_F(TakeTest, FindsAFileInTheCoursesLayoutOrFlat) {
  EXPECT_EQ(taken().missing, (std::vector<std::string>{"safe_softmax.cpp"}));
  write_text(flat(), "flat");
  EXPECT_EQ(taken().texts.at("safe_softmax.cpp"), "flat");
  write_text(deep(), "deep");
  EXPECT_EQ(taken().texts.at("safe_softmax.cpp"), "deep");
}

TEST_F(TakeTest, LeavesEverythingElseAlone) {
  write_text(flat(), "mine");
  write_text(temporary_.path() / "tests" / "judge.cpp", "patched");
  write_text(temporary_.path() / "main.cpp", "int main() {}");
  EXPECT_EQ(taken().texts.size(), 1U);
}

TEST_F(TakeTest, FollowsNoLink) {
  write_text(temporary_.path() / "elsewhere" / "safe_softmax.cpp", "secret");
  fs::create_symlink(temporary_.path() / "elsewhere" / "safe_softmax.cpp", flat());
  expect_refused("link");
  fs::remove(flat());
  fs::create_directory(temporary_.path() / "lessons");
  fs::create_directory_symlink(temporary_.path() / "elsewhere",
                               temporary_.path() / "lessons" / "01_safe_softmax");
  expect_refused("link");
}

TEST_F(TakeTest, WaitsForNoPipe) {
  ASSERT_EQ(mkfifo(flat().c_str(), 0600), 0);
  expect_refused("not a regular file");
}

TEST_F(TakeTest, TakesNoFolderForAFile) {
  fs::create_directory(flat());
  expect_refused("not a regular file");
}

TEST_F(TakeTest, ReadsNoHundredMegabytes) {
  write_text(flat(), "");
  fs::resize_file(flat(), 100 << 20);
  expect_refused("has 104857600 bytes, at most 1048576 are taken");
}

TEST_F(TakeTest, NamesAFolderThatIsNotThere) {
  EXPECT_THROW(take(temporary_.path() / "nobody", lesson_), std::runtime_error);
}

TEST_F(TakeTest, KnowsFilesByTheirContent) {
  const auto hash = [this] { return files_hash(taken()); };
  const std::string nothing = hash();
  write_text(flat(), "one");
  const std::string one = hash();
  write_text(flat(), "two");
  const std::string two = hash();
  EXPECT_NE(nothing, one);
  EXPECT_NE(one, two);
  write_text(temporary_.path() / "notes.txt", "three");
  EXPECT_EQ(hash(), two);
}

// ---- where a missing file is ----

class LookedForTest : public TakeTest {
 protected:
  std::string said() const {
    return where_it_was_looked_for(temporary_.path(), COURSE_SOURCE_DIR, lesson_, lesson_.files.front());
  }
};

TEST_F(LookedForTest, SaysWhereItWouldBeTaken) {
  EXPECT_EQ(said(),
            "safe_softmax.cpp, looked for at lessons/01_safe_softmax/safe_softmax.cpp and at the top of the "
            "submission");
}

TEST_F(LookedForTest, FindsItInAnotherFolderAndUnderANameLikeIt) {
  for (const char* place : {"week1/safe_softmax.cpp", "Safe_Softmax.CPP.txt",
                            "ring/lessons/01/safe_softmax.cpp", "ada_77_safe_softmax (1).cpp"}) {
    write_text(temporary_.path() / place, "mine");
    EXPECT_EQ(said(), std::string("safe_softmax.cpp, found at ") + place +
                          ": move it to lessons/01_safe_softmax/safe_softmax.cpp");
    fs::remove(temporary_.path() / place);
  }
}

TEST_F(LookedForTest, TakesNoCopyThatCameWithTheCourseForIt) {
  for (const char* place :
       {"skeletons/01_safe_softmax/safe_softmax.cpp", "build/x/safe_softmax.cpp",
        "solutions/01_safe_softmax/safe_softmax.cpp", ".course/safe_softmax.cpp", "safe_softmax.hpp"})
    write_text(temporary_.path() / place, "theirs");
  EXPECT_EQ(said().find("found"), std::string::npos) << said();
}

TEST_F(LookedForTest, SaysOfAnAnswerInPythonThatItIsNotGraded) {
  const std::string of_python = "a safe_softmax.py is there: Python answers are checked and not graded";
  for (const char* place : {"safe_softmax.py", "lessons/01_safe_softmax/safe_softmax.py"}) {
    const fs::path file = temporary_.path() / place;
    write_text(file, "mine");
    EXPECT_TRUE(said().ends_with("; " + of_python)) << said();
    fs::remove(file);
  }
}

TEST_F(LookedForTest, SaysNothingOfASkeletonInPython) {
  const fs::path skeleton = "lessons/01_safe_softmax/safe_softmax.py";
  write_text(temporary_.path() / skeleton, read_text(COURSE_SOURCE_DIR / skeleton));
  EXPECT_EQ(said().find("Python"), std::string::npos) << said();
}

TEST_F(LookedForTest, TakesNoFileOfTheCoursesOwnForIt) {
  const fs::path theirs = "common/judge/softmax/online_softmax.cpp";
  ASSERT_TRUE(fs::exists(COURSE_SOURCE_DIR / theirs));
  lesson_.id = "02";
  lesson_.name = "online_softmax";
  lesson_.files = {"online_softmax.cpp"};
  write_text(temporary_.path() / theirs, "theirs");
  EXPECT_EQ(said().find("found"), std::string::npos) << said();
  write_text(temporary_.path() / "common/online_softmax.cpp", "mine");
  EXPECT_EQ(said(),
            "online_softmax.cpp, found at common/online_softmax.cpp: move it to "
            "lessons/02_online_softmax/online_softmax.cpp");
}

TEST_F(LookedForTest, NamesThreePlacesAndCountsTheRest) {
  for (const char* place : {"a", "b", "c", "d", "e"})
    write_text(temporary_.path() / place / "safe_softmax.cpp", "mine");
  EXPECT_NE(said().find("a/safe_softmax.cpp, b/safe_softmax.cpp, c/safe_softmax.cpp and 2 more"),
            std::string::npos)
      << said();
}

// ---- an answer that lies beside an untouched skeleton ----

TEST_F(TakeTest, AnAnswerBesideASkeletonIsFoundAndCopiesOfTheSkeletonAreNone) {
  const std::string skeleton = "int skeleton;\n";
  const auto found = [&] {
    return found_elsewhere(temporary_.path(), COURSE_SOURCE_DIR, lesson_, lesson_.files.front(), skeleton);
  };
  write_text(deep(), skeleton);
  write_text(temporary_.path() / "backup/safe_softmax.cpp", "int   skeleton;  // kept\n");
  EXPECT_EQ(found(), "");
  for (const char* place : {"lessons/01_safe_softmax/mine/safe_softmax.cpp", "safe_softmax.cpp",
                            "lessons/01_safe_softmax/safe_softmax (1).cpp"}) {
    write_text(temporary_.path() / place, "int answer;");
    EXPECT_EQ(found(), std::string("safe_softmax.cpp, found at ") + place +
                           ": move it to lessons/01_safe_softmax/safe_softmax.cpp");
    fs::remove(temporary_.path() / place);
  }
}

TEST(SameLines, DoNotDependOnTheSystem) {
  EXPECT_TRUE(same_lines("a\r\nb\n", "a\nb\n"));
  EXPECT_FALSE(same_lines("a\rb\n", "a\nb\n"));
}

}  // namespace
}  // namespace course::program::grader
