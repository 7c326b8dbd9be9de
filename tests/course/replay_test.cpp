#include <gtest/gtest.h>

#include <algorithm>

#include "course/commands/commands.hpp"
#include "lessons.hpp"
#include "protocol/errors.hpp"

namespace course::program {

namespace {

/// From the first "-n" on, in one line.
std::string after_options(const std::vector<std::string>& command) {
  std::string text;
  for (auto word = std::find(command.begin(), command.end(), "-n"); word != command.end(); ++word) {
    text += (text.empty() ? "" : " ") + *word;
  }
  return text;
}

TEST(RanksCommand, PutsOneRankUnderGdbAndGivesItTheKeyboard) {
  const std::vector<std::string> command = ranks_command({"player", "case"}, 3, 1, debugger({}));
  EXPECT_EQ(after_options(command),
            "-n 1 player case : -n 1 gdb -q -ex set breakpoint pending on -ex set pagination off --args "
            "player case : -n 1 player case");
  const auto stdin_option = std::find(command.begin(), command.end(), "--stdin");
  ASSERT_NE(stdin_option, command.end());
  EXPECT_EQ(stdin_option[1], "1");
  EXPECT_LT(stdin_option, std::find(command.begin(), command.end(), "-n"));
}

TEST(RanksCommand, PutsOneRankUnderGdbserver) {
  EXPECT_EQ(after_options(ranks_command({"player"}, 2, 0, debugger(2345))),
            "-n 1 gdbserver --once localhost:2345 player : -n 1 player");
}

TEST(LessonOfCase, IsInTheFoldersName) {
  const std::vector<LessonInfo> lessons = two_lessons();
  EXPECT_EQ(lesson_of_case(lessons, "lesson05.2.ranks3").id, "05");
  EXPECT_THROW(lesson_of_case(two_lessons(), "lesson07.1"), UsageError);
  EXPECT_THROW(lesson_of_case(two_lessons(), "mine"), UsageError);
}

TEST(CasesNamed, TakesALessonAndATaskAsCheckDoes) {
  const std::vector<LessonInfo> lessons = two_lessons();
  using Names = std::vector<std::string>;
  const Names kept{"lesson01.1", "lesson05.1.ranks2", "lesson05.2.ranks10", "lesson05.2.ranks2", "mine"};
  for (const char* one : {"01.1", "1.1", "01", "safe_softmax.1", "lesson01.1"})
    EXPECT_EQ(cases_named(lessons, kept, one), Names{"lesson01.1"}) << one;
  EXPECT_EQ(cases_named(lessons, kept, "05.1"), Names{"lesson05.1.ranks2"});
  EXPECT_EQ(cases_named(lessons, kept, "05.2"), (Names{"lesson05.2.ranks10", "lesson05.2.ranks2"}));
  EXPECT_EQ(cases_named(lessons, kept, "05.2.ranks2"), Names{"lesson05.2.ranks2"});
  for (const char* none : {"05.3", "07.1", "", "lesson0", "05.2.ranks1"})
    EXPECT_EQ(cases_named(lessons, kept, none), Names{}) << none;
}

}  // namespace

}  // namespace course::program
