#include "grader/roster.hpp"

#include <gtest/gtest.h>

#include "grader/deadline.hpp"
#include "protocol/errors.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program::grader {
namespace {

using Ids = std::map<std::string, std::string>;

Ids roster(const std::string& text) {
  const TemporaryFolder temporary;
  write_text(temporary.path() / "roster.csv", text);
  return read_roster(temporary.path() / "roster.csv");
}

TEST(Roster, TakesItsColumnsByTheirNames) {
  EXPECT_EQ(roster("submission,id\nada,1001\nben,1002\n"), (Ids{{"ada", "1001"}, {"ben", "1002"}}));
  EXPECT_EQ(roster("name,id,submission\n\"Lovelace, Ada\",\"10\"\"01\",ada\n"), (Ids{{"ada", "10\"01"}}));
}

TEST(Roster, TakesWhatASpreadsheetSaves) {
  EXPECT_EQ(roster("\xEF\xBB\xBFsubmission,id\r\nada,1001\r\n\r\n"), (Ids{{"ada", "1001"}}));
}

TEST(Roster, TakesACellWithoutTheBlanksAtItsEnds) {
  EXPECT_EQ(roster("submission , id\n zoe ,\t1004 \n"), (Ids{{"zoe", "1004"}}));
}

TEST(Roster, PassesOverARowWithoutAnything) {
  EXPECT_EQ(roster("submission,id\nada,1001\n , \n,\n"), (Ids{{"ada", "1001"}}));
}

TEST(Roster, MayLackIds) {
  EXPECT_EQ(roster("submission,id\nada,\nben,\n"), (Ids{{"ada", ""}, {"ben", ""}}));
}

TEST(Roster, SaysWhatIsWrong) {
  for (const auto& [text, why] : std::map<std::string, std::string>{
           {"", "is empty"},
           {"submission;id\nada;1\n",
            "the first line is 'submission;id', expected columns separated by commas"},
           {"submission,name\nada,Ada\n", "'submission' and 'id' among them"},
           {"submission,id\nada\n", "row 2, 'ada', has 1 fields, expected 2"},
           {"submission,id\nada,1\nada,2\n", "row 3 has submission 'ada' a second time"},
           {"submission,id\nada,1\nben,1\n", "row 3 gives submission 'ben' the id '1' of submission 'ada'"},
           {"submission,id\nada,1\nJ\xF6rg M\xFCller,2\n",
            "roster.csv: line 3 is not UTF-8: save it as UTF-8"},
           {"submission,id\nada,1\n../x,2\n",
            "row 3 has submission '../x', expected the name of a folder among the submissions"},
           {"submission,id\nada/../ben,2\n", "row 2 has submission 'ada/../ben', expected"},
           {"submission,id\n..,2\n", "row 2 has submission '..', expected"},
           {"submission,id\n,2\n", "row 2 has submission '', expected"},
           {"submission,id\n\"ada,1\n", "a quote is left open"}}) {
    try {
      roster(text);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }
}

TEST(CsvField, IsNoFormulaAndIsReadBack) {
  for (const char* formula : {"=1+1", "+1", "-1", "@A1", "\t=1", "\r=1"})
    EXPECT_EQ(csv_field(formula), std::string("\"'") + formula + "\"");
  EXPECT_EQ(csv_rows(csv_field("a,\"b\"\nc"))[0][0], "a,\"b\"\nc");
}

TEST(Deadline, IsTheEndOfADayOrAMinute) {
  EXPECT_EQ(deadline_from("2026-10-12T18:00Z"), 1791828000);
  EXPECT_EQ(deadline_from("2026-10-12T18:00:30Z"), 1791828030);
  EXPECT_EQ(deadline_from("2026-10-12 18:00+02:00"), 1791828000 - 7200);
  EXPECT_EQ(deadline_from("2026-10-12T18:00-0130"), 1791828000 + 5400);
  EXPECT_EQ(deadline_from("2026-10-12"), deadline_from("2026-10-13T00:00"));
}

TEST(Deadline, IsRefusedWhereItIsNoDate) {
  for (const char* text : {"", "tomorrow", "12.10.2026", "2026-02-30", "2026-13-01", "2026-10-12T25:00",
                           "2026-10-12T18", "2026-10-12T18:00 CET"})
    EXPECT_THROW(deadline_from(text), UsageError) << text;
}

TEST(Lateness, IsCountedInTenthsOfAnHourUp) {
  EXPECT_EQ(hours_late(1000, 1000), 0);
  EXPECT_EQ(hours_late(1000, 1001), 0.1);
  EXPECT_EQ(hours_late(1000, 1000 + 9000), 2.5);
}

}  // namespace
}  // namespace course::program::grader
