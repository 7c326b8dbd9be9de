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
  const std::string nothing = files_hash(temporary_.path(), {lesson_});
  write_text(flat(), "one");
  const std::string one = files_hash(temporary_.path(), {lesson_});
  write_text(flat(), "two");
  const std::string two = files_hash(temporary_.path(), {lesson_});
  EXPECT_NE(nothing, one);
  EXPECT_NE(one, two);
  write_text(temporary_.path() / "notes.txt", "three");
  EXPECT_EQ(files_hash(temporary_.path(), {lesson_}), two);
}

}  // namespace
}  // namespace course::program::grader
