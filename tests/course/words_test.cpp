#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "text/nearest.hpp"
#include "text/text_file.hpp"
#include "text/wrapped.hpp"

namespace course {

namespace {

using Words = std::vector<std::string>;

TEST(Wrapped, BreaksAtBlanksWhereALineIsTooWide) {
  EXPECT_EQ(wrapped("one two three\n", 7), "one two\n  three\n");
  EXPECT_EQ(wrapped("one two three", 13), "one two three");
  EXPECT_EQ(wrapped("one two three\n", 0), "one two three\n") << "any width";
  EXPECT_EQ(wrapped("  in four five six\n\nx", 10), "  in four\n    five\n    six\n\nx");
  EXPECT_EQ(wrapped("a ./very/long/path b", 6), "a\n  ./very/long/path\n  b") << "a word is never cut";
}

TEST(Wrapped, KeepsAColumn) {
  EXPECT_EQ(wrapped("FAIL  lesson01.1   looks like: no maximum\n", 30),
            "FAIL  lesson01.1   looks like:\n      no maximum\n");
}
TEST(Wrapped, LeavesCodeUnderACommentAsItIs) {
  EXPECT_EQ(wrapped_comments("/// Task 1. The state of both.\nSoftmaxState merge(SoftmaxState a);", 20),
            "/// Task 1. The\n/// state of both.\nSoftmaxState merge(SoftmaxState a);");
  EXPECT_EQ(wrapped_comments("///   lse of a row\n", 12), "///   lse of\n///   a row\n");
  EXPECT_EQ(wrapped_comments("/// one two three four\n/// five six. Seven\n/// eight.\n/// Nine.\n", 14),
            "/// one two\n/// three four\n/// five six.\n/// Seven\n/// eight.\n/// Nine.\n")
      << "a paragraph flows on, where its lines were broken for their length";
  EXPECT_EQ(wrapped_comments("///   - one two three\n///     four five six\n///   - a\n", 18),
            "///   - one two\n///     three four\n///     five six\n///   - a\n");
  EXPECT_EQ(wrapped_comments("/// one two three\n", 0), "/// one two three\n") << "any width";
}
TEST(Wrapped, FillsAParagraphOfMarkdownAnew) {
  EXPECT_EQ(wrapped_markdown("one two three four\nfive six\n\nseven", 13),
            "one two three\nfour five six\n\nseven");
  EXPECT_EQ(wrapped_markdown("one two three\nfour\n", 13), "one two three\nfour\n") << "it fits";
  EXPECT_EQ(wrapped_markdown("one two three\nfour\n", 0), "one two three\nfour\n") << "any width";
  EXPECT_EQ(wrapped_markdown("- one two three\n  four\n- five\n10. six seven eight", 12),
            "- one two\n  three four\n- five\n10. six\n    seven\n    eight");
  const std::string as_it_is =
      "```\nint a = 1 + 2;\nint b;\n```\n| one | two | three |\n    int c = 1 + 2;\n";
  EXPECT_EQ(wrapped_markdown(as_it_is, 8), as_it_is);
}
TEST(Wrapped, CountsCharactersAndNoColours) {
  EXPECT_EQ(wrapped("ααα βββ", 7), "ααα βββ");
  EXPECT_EQ(wrapped("\033[1mone two\033[0m", 7), "\033[1mone two\033[0m");
  EXPECT_EQ(columns_of("\033[31mα→b\033[0m"), 3u);
}

TEST(Nearest, IsWhatAWordMayHaveBeenMeantFor) {
  const Words commands{"check", "hint", "quiz", "show", "watch", "drill"};
  EXPECT_EQ(nearest("chekc", commands), Words{"check"});
  EXPECT_EQ(nearest("QUIZZ", commands), Words{"quiz"});
  EXPECT_EQ(nearest("hnt", commands), Words{"hint"});
  EXPECT_EQ(nearest("weather-forecast", commands), Words());
  EXPECT_EQ(nearest("wat", {"bat", "cat", "what", "wax"}), (Words{"bat", "cat", "what", "wax"}));
  EXPECT_EQ(nearest("softmax", {"safe_softmax", "ring_attention", "online_softmax"}),
            (Words{"safe_softmax", "online_softmax"}));
  EXPECT_EQ(did_you_mean("drll", commands), "; did you mean drill?");
  EXPECT_EQ(did_you_mean("weather", {}), "");
  EXPECT_EQ(unknown("topic", "rng", {"ring"}), "there is no topic 'rng'; did you mean ring? There are: ");
  EXPECT_EQ(unknown("topic", "weather", {"ring"}), "there is no topic 'weather'; there are: ");
}

/// The commands that the launcher lists.
Words commands_of_launcher() {
  static const std::regex listed("  ([a-z-]+) .*");
  Words commands;
  for (const std::string& line : lines_of(read_text(std::filesystem::path(COURSE_SOURCE_DIR) / "course"))) {
    if (line == "TEXT") break;
    if (std::smatch found; std::regex_match(line, found, listed)) commands.push_back(found[1]);
  }
  return commands;
}

TEST(Nearest, IsWhatTheLauncherFinds) {
  const Words commands = commands_of_launcher();
  EXPECT_GE(commands.size(), 20u);
  std::size_t compared = 0;
  for (const std::string& line : lines_of(read_text(std::filesystem::path(COURSE_SOURCE_DIR) / "tests" /
                                                    "course" / "misspelt_commands.tsv"))) {
    if (line.starts_with("#")) continue;
    const std::size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos) << line;
    const std::string meant = line.substr(tab + 1);
    EXPECT_EQ(did_you_mean(line.substr(0, tab), commands),
              meant.empty() ? "" : "; did you mean " + meant + "?")
        << line;
    ++compared;
  }
  EXPECT_GE(compared, 10u);
}

}  // namespace

}  // namespace course
