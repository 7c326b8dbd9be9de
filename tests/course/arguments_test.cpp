#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "../common/complaint.hpp"
#include "course/commands/tools.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "lessons.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

TEST(LessonArgument, HasManySpellings) {
  const std::vector<LessonInfo> lessons = two_lessons();
  for (const char* spelling :
       {"05", "5", "ring_attention", "05_ring_attention", "lessons/05_ring_attention",
        "lessons/05_ring_attention/", "./lessons/05_ring_attention/ring_attention.cpp"}) {
    const LessonChoice choice = choose_lesson(lessons, spelling);
    EXPECT_EQ(choice.lesson->id, "05") << spelling;
    EXPECT_EQ(choice.task, "") << spelling;
  }
}

/// Each "--name" at the beginning of a line of a program's help, but for --help; "--name=" and "--name=N"
/// where a value follows.
std::set<std::string> options_in_help(const std::string& help) {
  std::set<std::string> options;
  for (const std::string& line : lines_of(help)) {
    static const std::regex option(
        "^ +(?:-h,)?((?:--[a-z-]+(?:\\{false\\})?(?:,\\s*)?)+)(?: ([A-Z]{2,}).*| .*)?");
    static const std::regex name("--[a-z-]+");
    std::smatch found;
    if (!std::regex_match(line, found, option)) continue;
    const std::string names = found[1], type = found[2];
    for (std::sregex_iterator each(names.begin(), names.end(), name), end; each != end; ++each) {
      if (each->str() != "--help") options.insert(each->str() + (type.empty() ? "" : "="));
    }
  }
  return options;
}

TEST(ToolOptions, AreThoseOfTheProgramThatIsBuiltForThem) {
  const fs::path bin = fs::read_symlink("/proc/self/exe").parent_path();
  int compared = 0;
  for (const ToolCommand& tool : tool_commands) {
    if (tool.program == nullptr || !fs::exists(bin / tool.program)) continue;
    ++compared;
    std::set<std::string> known;
    for (const ToolOption& option : options_of(tool))
      known.insert(option.name + (option.has_value ? "=" : ""));
    const std::string help =
        capture({.argv = {bin / tool.program, tool.name, "--help"}, .environment = {{"COLUMNS", "1000"}}})
            .output;
    EXPECT_EQ(options_in_help(help), known) << tool.name << "\n" << help;
    EXPECT_EQ(help.find("INT"), std::string::npos) << tool.name << "\n" << help;
  }
  EXPECT_GE(compared, fs::exists(bin / "ring_demo") ? 2 : 0);
}

TEST(LessonArgument, MayNameATask) {
  const std::vector<LessonInfo> lessons = two_lessons();
  for (const char* spelling : {"05.2", "5.2", "ring_attention.2", "05_ring_attention.2"}) {
    EXPECT_EQ(choose_lesson(lessons, spelling).lesson->id, "05") << spelling;
    EXPECT_EQ(choose_lesson(lessons, spelling).task, "2") << spelling;
  }
}

TEST(LessonArgument, MayHaveItsTaskApart) {
  const std::vector<LessonInfo> lessons = two_lessons();
  EXPECT_EQ(choose_lesson(lessons, "05", "2").task, "2");
  EXPECT_EQ(choose_lesson(lessons, "05.2", "2").task, "2");
  EXPECT_EQ(choose_lesson(lessons, "05.2", "").task, "2");
  EXPECT_EQ(choose_lesson(lessons, "05", "").task, "");
  EXPECT_EQ(complaint_of<UsageError>([&] { choose_lesson(lessons, "05.1", "2"); }),
            "task 1 in '05.1' contradicts --task 2");
  EXPECT_EQ(complaint_of<UsageError>([&] { choose_lesson(lessons, "05", "3"); }),
            "lesson 05 has no task '3'; it has: 1 (whose block is it), 2 (ring attention)");
}

TEST(LessonArgument, ComplaintNamesWhatThereIs) {
  const std::vector<LessonInfo> lessons = two_lessons();
  for (const char* spelling : {"", "7", "0", "tree", "tree.1", "-5", "elsewhere/ring_attention.cpp"}) {
    EXPECT_EQ(
        complaint_of<UsageError>([&] { choose_lesson(lessons, spelling); }),
        std::string("there is no lesson '") + spelling + "'; there are: 01 safe_softmax, 05 ring_attention");
  }
  EXPECT_EQ(
      complaint_of<UsageError>([&] { choose_lesson(lessons, "ring_atention.2"); }),
      "there is no lesson 'ring_atention.2'; did you mean ring_attention? There are: 01 safe_softmax, 05 "
      "ring_attention");
  EXPECT_EQ(complaint_of<UsageError>([&] { choose_lesson(lessons, "05.3"); }),
            "lesson 05 has no task '3'; it has: 1 (whose block is it), 2 (ring attention)");
  EXPECT_EQ(complaint_of<UsageError>([&] { choose_whole_lesson(lessons, "5.1", "reset"); }),
            "reset takes a whole lesson, such as 05, not '5.1'");
}

std::string ids(const std::vector<LessonInfo>& lessons) {
  std::string text;
  for (const LessonInfo& lesson : lessons) text += lesson.id + " ";
  return text;
}

TEST(LessonsArgument, TakesListsAndRanges) {
  std::vector<LessonInfo> lessons(4);
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    lessons[i].id = "0" + std::to_string(i + 1);
    lessons[i].name = "lesson_" + lessons[i].id;
  }
  const auto chosen = [&](const char* argument) { return ids(choose_lessons(lessons, argument, "handout")); };
  EXPECT_EQ(chosen("03"), "03 ");
  EXPECT_EQ(chosen("2-4"), "02 03 04 ");
  EXPECT_EQ(chosen("03,01"), "01 03 ");
  EXPECT_EQ(chosen("01,02-03,03"), "01 02 03 ");
  EXPECT_EQ(chosen("04-04"), "04 ");
  for (const char* wrong : {"", ",", "05", "01-05", "01,", "-", "01-", "-02", "01-02-03", "01;02"})
    EXPECT_THROW(chosen(wrong), UsageError) << wrong;
  EXPECT_EQ(complaint_of<UsageError>([&] { chosen("03-02"); }),
            "'03-02' runs backwards; a range of lessons goes up, such as 03-05");
}

TEST(SelectedTests, FollowTaskAndRanks) {
  const LessonInfo lesson = two_lessons()[1];
  EXPECT_EQ(selected_tests(lesson), (Words{"1", "2.ranks1", "2.ranks3"}));
  EXPECT_EQ(selected_tests(lesson, "1"), (Words{"1"}));
  EXPECT_EQ(selected_tests(lesson, "2"), (Words{"2.ranks1", "2.ranks3"}));
  EXPECT_EQ(selected_tests(lesson, "", 3), (Words{"2.ranks3"}));
}

TEST(SelectedTests, ComplainWhenNothingFits) {
  const LessonInfo lesson = two_lessons()[1];
  EXPECT_EQ(complaint_of<UsageError>([&] { selected_tests(lesson, "", 4); }),
            "nothing in lesson 05 is tested on 4 ranks; the lesson's world sizes are 1, 3");
  EXPECT_EQ(complaint_of<UsageError>([&] { selected_tests(lesson, "1", 3); }),
            "nothing in lesson 05.1 is tested on 3 ranks; the lesson's world sizes are 1, 3");
  EXPECT_EQ(complaint_of<UsageError>([&] { selected_tests(two_lessons()[0], "", 2); }),
            "lesson 01 is played on one rank; leave out --ranks 2");
}

TEST(Words, AreCutAtBlanksOutsideQuotes) {
  EXPECT_EQ(words_of("python3 player.py -u"), (Words{"python3", "player.py", "-u"}));
  EXPECT_EQ(words_of("  'my player'  --name=\"a b\" '' "), (Words{"my player", "--name=a b", ""}));
  EXPECT_EQ(shell_word("'my player' --name=$HOME!"), R"(''\''my player'\'' --name=$HOME!')");
  EXPECT_EQ(complaint_of<UsageError>([] { words_of("python3 'my player"); }),
            "a quote is left open in the command: python3 'my player");
  EXPECT_NE(complaint_of<UsageError>([] { words_of("  "); }).find("expected a command"), std::string::npos);
}

}  // namespace

}  // namespace course::program
