#include <gtest/gtest.h>

#include "course/commands/commands.hpp"
#include "course/commands/machine_facts.hpp"
#include "course/terminal/terminal.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

using Hints = std::map<std::string, std::vector<std::string>>;

TEST(Hints, AreTakenByTaskInOrder) {
  const Hints hints = parse_hints(
      "# Hints\n\nBefore you look.\n\n## Task 1: softmax\nsome words\n### Hint 1\n\nThink.\n\nTwice.\n### "
      "Hint 2\nMore.\n"
      "## Task 2\n### Hint 1\n```\n# not a heading of ours\n```\n## Elsewhere\n### Hint 1\nlost\n");
  EXPECT_EQ(hints,
            (Hints{{"1", {"Think.\n\nTwice.", "More."}}, {"2", {"```\n# not a heading of ours\n```"}}}));
}

TEST(MistakeRows, ArePlainTextWithTheirLinesAndIds) {
  const std::vector<MistakeRow> rows = parse_mistake_rows(
      "## What the tests check\n\n| a | b |\n| --- | --- |\n| not | this <!-- one --> |\n\n## Common "
      "mistakes\n\n"
      "| What you see | What it is |\n| --- | --- |\n"
      "| `p` is *NaN* | see [there](why.md), $m$ <!-- no_maximum in_place --> |\n"
      "| 1 \\| 2 | words |\n\nMore.\n\n## Interview questions\n");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].line, 11);
  EXPECT_EQ(rows[0].seen, "p is NaN");
  EXPECT_EQ(rows[0].cause, "see there, m");
  EXPECT_EQ(rows[0].mistakes, (std::vector<std::string>{"no_maximum", "in_place"}));
  EXPECT_EQ(rows[1].seen, "1 | 2");
  EXPECT_TRUE(rows[1].mistakes.empty());
}

TEST(Folded, KeepsEveryCharacterInLinesThatFit) {
  EXPECT_EQ(folded("short\n", 10), "short\n");
  EXPECT_EQ(folded("0123456789abcdef\n", 10), "0123456789\n      abcd\n      ef\n");
  // A character of two bytes is not cut in half.
  EXPECT_EQ(folded("012345678\u00e9abc", 10), "012345678\n      \u00e9ab\n      c\n");
}

TEST(ContentHash, TellsContentsAndTheirOrderApart) {
  EXPECT_EQ(content_hash({"a", "b"}), content_hash({"a", "b"}));
  EXPECT_NE(content_hash({"a", "b"}), content_hash({"b", "a"}));
  EXPECT_NE(content_hash({"ab", ""}), content_hash({"a", "b"}));
  EXPECT_EQ(content_hash({}).size(), 16u);
}

TEST(Duration, IsReadable) {
  EXPECT_EQ(duration(4.4), "4 s");
  EXPECT_EQ(duration(200), "3 min 20 s");
  EXPECT_EQ(duration(3700), "1 h 1 min");
}

TEST(Facts, AreReadFromWhatCMakeLeft) {
  EXPECT_EQ(cache_entry("//comment\nEigen3_DIR:PATH=/usr/share/eigen3/cmake\nX:BOOL=ON\n", "Eigen3_DIR"),
            "/usr/share/eigen3/cmake");
  EXPECT_EQ(cache_entry("X:BOOL=ON\n", "Eigen3_DIR"), "");
  EXPECT_EQ(package_version("# c\nset(PACKAGE_VERSION \"3.4.0\")\n"), "3.4.0");
  EXPECT_EQ(package_version("set (PACKAGE_VERSION \"9.1.0\")"), "9.1.0");
  EXPECT_EQ(package_version(""), "");
}

}  // namespace

}  // namespace course::program
