#include <gtest/gtest.h>

#include "course/commands/commands.hpp"
#include "course/workspace/lesson_status.hpp"
#include "lessons.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {
namespace {

/// What ./course hint 01 prints after a drill's tests went so.
std::string hint_after(const TestResults& drilled, bool again = false) {
  const TemporaryFolder temporary;
  const Checkout checkout{temporary.path(), two_lessons()};
  const LessonInfo& lesson = checkout.lessons[0];
  write_text(temporary.path() / Checkout::lesson_folder(lesson) / "hints.md",
             "## Task 1\n### Hint 1\nThe first.\n## Task 2\n### Hint 1\nThe second.\n");
  update_progress(checkout, [&](Progress& progress) { progress.drilled[lesson.id] = drilled; });
  testing::internal::CaptureStdout();
  hint(checkout, {.lesson = lesson.id, .task = "", .again = again});
  return testing::internal::GetCapturedStdout();
}

TEST(HintAfterADrill, IsOfTheTaskDrilledThoughItIsNotWrittenYet) {
  const std::string todo = hint_after({{"2", {Status::Todo, "task 2, logsumexp", {}}}});
  EXPECT_NE(todo.find("task 2, logsumexp: hint 1 of 1"), std::string::npos) << todo;
  EXPECT_NE(todo.find("The second."), std::string::npos) << todo;
}

TEST(HintAfterADrill, ExplainsWhatItFailedBy) {
  const std::string wrong = hint_after({{"2", {Status::Failed, "lse is 1, should be 2", {}}}});
  EXPECT_NE(wrong.find("lse is 1, should be 2"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("general hint 1 of 1 for task 2"), std::string::npos) << wrong;
}

/// Cut to its first line, a sentence that does not fit the terminal is a sentence all the same.
TEST(HintAfterADrill, SaysASecondTimeAllOfItsFirstLine) {
  setenv("COLUMNS", "40", 1);
  const TemporaryFolder temporary;
  const Checkout checkout{temporary.path(), two_lessons()};
  const LessonInfo& lesson = checkout.lessons[0];
  write_text(temporary.path() / Checkout::lesson_folder(lesson) / "hints.md",
             "## Task 1\n### Hint 1\nThe first.\n## Task 2\n### Hint 1\nThe second.\n");
  update_progress(checkout, [&](Progress& progress) {
    progress.drilled[lesson.id] = {
        {"2", {Status::Failed, "lse[row 3] is -0.250000, should be 1.75, which is off by 2.0", {}}}};
  });
  testing::internal::CaptureStdout();
  hint(checkout, {.lesson = lesson.id, .task = "", .again = false});
  testing::internal::GetCapturedStdout();
  testing::internal::CaptureStdout();
  hint(checkout, {.lesson = lesson.id, .task = "", .again = false});
  const std::string second = testing::internal::GetCapturedStdout();
  unsetenv("COLUMNS");
  EXPECT_NE(second.find("off by"), std::string::npos) << second;
  EXPECT_NE(second.find("The second."), std::string::npos) << second;
}

TEST(HintAgain, GivesNoneThatHasNotBeenGiven) {
  const std::string none = hint_after({}, true);
  EXPECT_NE(none.find("no hint for 01.1 has been given yet; ./course hint 01 gives the first"),
            std::string::npos)
      << none;
  EXPECT_EQ(none.find("The first."), std::string::npos) << none;
}

}  // namespace
}  // namespace course::program
