#include <gtest/gtest.h>

#include <sstream>

#include "course/selftest/ledger_changes.hpp"
#include "course/selftest/test_run.hpp"
#include "lessons.hpp"

namespace course::program {

namespace {

using Outcome = TestRow::Outcome;

TestRow row(const std::string& name, Outcome outcome, const std::string& output = "", double seconds = 1) {
  return {outcome, name, "", output, seconds};
}

/// The words of the table's line for a lesson.
std::vector<std::string> line_for(const std::string& table, const std::string& lesson) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(lesson)) continue;
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

TEST(TestTable, CountsWhatWasFailedAndWhatWasNamed) {
  const std::string table = test_table(
      two_lessons(),
      {row("mutant.lesson01.no_maximum", Outcome::Passed), row("mutant.lesson01.in_place", Outcome::Passed),
       row("mutant.lesson01.third", Outcome::Failed, "it should be named third, and is named []"),
       row("mutant.lesson01.fourth", Outcome::Failed, "task 1 does not fail"),
       row("variant.lesson01.eigen", Outcome::Passed), row("variant.lesson01.slow", Outcome::Failed),
       row("combination.lesson01.a+b", Outcome::Passed), row("solution.lesson05.1", Outcome::Passed),
       row("sanitize.mutant.lesson01.no_maximum", Outcome::Failed)});
  using Words = std::vector<std::string>;
  EXPECT_EQ(line_for(table, "01"),
            (Words{"01", "safe_softmax", "4", "3", "2", "1/1", "1", "of", "2", "1", "of", "1"}));
  EXPECT_EQ(line_for(table, "05"), Words{});
  EXPECT_EQ(test_table(two_lessons(), {}), "");
}

TEST(TestTable, CountsWhatWasPlayedWithManySeeds) {
  const std::string table =
      test_table(two_lessons(), {row("seeds.mutant.lesson01.no_maximum", Outcome::Passed),
                                 row("seeds.variant.lesson01.eigen", Outcome::Failed)});
  using Words = std::vector<std::string>;
  EXPECT_EQ(line_for(table, "01"), (Words{"01", "safe_softmax", "1", "1", "1", "1/0", "0", "of", "1", "-"}));
}

TEST(LedgerChanges, AreTheLinesThatWereAddedOrAreGone) {
  EXPECT_EQ(
      ledger_changes("lesson05.tsv", "public\t1\nmutant.b\tfailed\t1\nskeleton\ttodo\tpublic\n",
                     "public\t1\nmutant.a\tfailed: a\t1\nmutant.b\tfailed: b\t1\nskeleton\ttodo\tpublic\n"),
      "lesson05.tsv: 2 lines added, 1 gone\n  - mutant.b\tfailed\t1\n  + mutant.a\tfailed: a\t1\n"
      "  + mutant.b\tfailed: b\t1\n");
  EXPECT_EQ(ledger_changes("tests.tsv", "a\n", "a\nb\n"), "tests.tsv: 1 line added, 0 gone\n  + b\n");
  EXPECT_EQ(ledger_changes("tests.tsv", "a\nb\n", "a\nb\n"), "tests.tsv: as committed\n");
}

TEST(SlowestTests, ComeFirst) {
  const std::string text = slowest_tests(
      {row("a", Outcome::Passed, "", 1), row("b", Outcome::Passed, "", 30), row("c", Outcome::Passed, "", 2)},
      2);
  EXPECT_EQ(text, "    30.0 s  b\n     2.0 s  c\n");
}

TEST(Counts, AreALineOfTheirOwn) {
  EXPECT_EQ(summary({row("a", Outcome::Passed), row("b", Outcome::Failed)}), "1 passed, 1 failed, 0 skipped");
}

TEST(Counts, NameWhatWasSkipped) {
  EXPECT_EQ(summary({row("a", Outcome::Passed), row("b", Outcome::Skipped), row("c", Outcome::Skipped)}),
            "1 passed, 0 failed, 2 skipped: b, c");
}

}  // namespace

}  // namespace course::program
