#include "grader/readable.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports.hpp"

namespace course::program::grader {
namespace {

using program::Status;
const Checkout& checkout() {
  static const Checkout course{COURSE_SOURCE_DIR, read_registry(COURSE_SOURCE_DIR "/lessons/registry.json")};
  return course;
}

nlohmann::ordered_json json_of(const Report& report) {
  return nlohmann::ordered_json::parse(json_report(report));
}

/// What is left of an HTML text without what this report writes into it.
std::string outside_marks(const std::string& html) {
  std::string text;
  bool in_mark = false;
  for (const char c : html.substr(html.find("<body>"))) {
    in_mark = (in_mark || c == '<') && c != '>';
    if (!in_mark) text += c;
  }
  return text;
}

TEST(HtmlReport, ShowsATasksWordsItsPointsAndItsDiagnosis) {
  const std::string html =
      html_report(json_of(report_with("p[row 2, col 0] is nan, should be 0")), checkout());
  for (const char* part : {"01.1 softmax", "0 of 60 points", "p[row 2, col 0] is nan, should be 0",
                           "Softmax of every row of x [rows, cols] into p", "40 of 40 points"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
}

TEST(HtmlReport, TellsAStudentNeitherTheSeedNorAHiddenTestsWords) {
  const nlohmann::ordered_json report = json_of(report_with("wrong"));
  for (const std::string& text : {html_report(report, checkout()), markdown_report(report, checkout())}) {
    EXPECT_EQ(text.find(std::to_string(secret_seed)), std::string::npos);
    EXPECT_EQ(text.find(secret_value), std::string::npos);
    EXPECT_NE(text.find("fails on hidden inputs"), std::string::npos);
  }
}

/// However a text is broken up, no element, attribute or reference of it becomes the page's.
TEST(HtmlReport, ShowsWhatAStudentWroteAsText) {
  nlohmann::ordered_json plain = json_of(report_with("x"));
  const auto marks = [](const std::string& html) {
    return std::pair(std::ranges::count(html, '<'), std::ranges::count(html, '"'));
  };
  const auto expected = marks(html_report(plain, checkout()));
  for (std::string text : adversarial_texts()) {
    text = "<script>alert(1)</script>\"'&amp; </pre><img src=x onerror=alert(1)>" + text;
    nlohmann::ordered_json report = json_of(report_with(text));
    report["submission"] = presentable(text);
    report["id"] = presentable(text);
    report["edited_beside"] = nlohmann::ordered_json::array();
    const std::string html = html_report(report, checkout());
    EXPECT_EQ(marks(html), expected);
    EXPECT_NE(
        outside_marks(html).find("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;amp; &lt;/pre&gt;"),
        std::string::npos);
  }
}

TEST(MarkdownReport, KeepsADiagnosisInItsFence) {
  const std::string text =
      markdown_report(json_of(report_with("a\n```\n# not a title\n````\n<b>x</b>")), checkout());
  EXPECT_NE(text.find("\na\n```\n# not a title\n````\n<b>x</b>\n`````\n"), std::string::npos) << text;
}

TEST(MarkdownReport, ShowsNamesAsText) {
  nlohmann::ordered_json report = json_of(report_with("x"));
  report["submission"] = "<b>*ada*</b>\n# [x](https://example.org) www.example.org";
  const std::string text = markdown_report(report, checkout());
  EXPECT_NE(text.find("# \\<b\\>\\*ada\\*\\</b\\> \\# \\[x\\](https\\://example.org) www\\.example.org\n"),
            std::string::npos)
      << text;
}

TEST(Reports, EndAParagraphWhereTheContractDoes) {
  const nlohmann::ordered_json report = json_of(report_with("x"));
  const std::string html = html_report(report, checkout()), text = markdown_report(report, checkout());
  EXPECT_EQ(html.find("///"), std::string::npos);
  EXPECT_EQ(text.find("///"), std::string::npos);
  EXPECT_NE(html.find("modulo P.\n\nq, k, v, o [heads"), std::string::npos);
  EXPECT_NE(text.find("modulo P.\n>\n> q, k, v, o \\[heads"), std::string::npos) << text;
}

/// The box says where it was looked for.
TEST(Reports, SayOfAMissingFileThatItWasNotHandedIn) {
  const std::string why = "not handed in: safe_softmax.cpp, looked for at the top of the submission";
  LessonStatus status = lesson_status_as_a_whole(lessons()[0], Status::Todo, why);
  status.missing = true;
  const nlohmann::ordered_json report = json_of(report_of({{.lesson_status = status}}));
  for (const std::string& text : {html_report(report, checkout()), markdown_report(report, checkout())}) {
    EXPECT_EQ(text.find("not written"), std::string::npos) << text;
    EXPECT_NE(text.find("not handed in"), text.rfind("not handed in"));
  }
}

/// Whatever words a diagnosis begins with.
TEST(Reports, SayOfAFileThatIsThereThatItIsNotWritten) {
  const LessonStatus status = lesson_status_as_a_whole(lessons()[0], Status::Todo, "not handed in: I guess");
  EXPECT_NE(html_report(json_of(report_of({{.lesson_status = status}})), checkout()).find("not written"),
            std::string::npos);
}

TEST(Reports, SayWhenALessonWasHandedInAndHowLate) {
  Report graded = report_with("x");
  graded.lessons[0].commit = LastCommit{"1a2b3c4", "2026-10-05T22:41:07+02:00", 1, false};
  nlohmann::ordered_json report = json_of(graded);
  report["lessons"][0]["late_hours"] = 3.2;
  EXPECT_NE(
      html_report(report, checkout()).find("commit 1a2b3c4 of 2026-10-05T22:41:07+02:00, 3.2 hours late"),
      std::string::npos);
}

// ---- joining reports of several runs ----

TEST(MergedReports, KeepTheLessonsThatTheNewerOneDoesNotHave) {
  const nlohmann::ordered_json both = json_of(report_with("wrong"));
  Report again =
      report_of({graded(lessons()[0], {{"1", result(Status::Passed)}, {"2", result(Status::Passed)}})});
  const nlohmann::ordered_json report = merged(both, json_of(again));
  ASSERT_EQ(report["lessons"].size(), 2U);
  EXPECT_EQ(report["lessons"][0]["status"], "passed");
  EXPECT_EQ(report["lessons"][1], both["lessons"][1]);
  EXPECT_EQ(report["points"], 100);
  EXPECT_EQ(report["max_points"], 200);
}

TEST(MergedReports, AreIncompleteWhereAnyLessonIs) {
  Report broken = report_with("wrong");
  broken.lessons[1].failed = true;
  const Report first = report_of({broken.lessons[0]});
  EXPECT_EQ(merged(json_of(broken), json_of(first))["complete"], false);
  EXPECT_EQ(merged(json_of(broken), json_of(report_with("wrong")))["complete"], true);
}

TEST(GradingManifest, DecidesAsAnotherOfAnotherCommit) {
  const GradingManifest terms = report_with("x").manifest;
  GradingManifest other = terms;
  other.commit = "another";
  EXPECT_TRUE(terms.decides_as(other));
  for (const auto& change : std::vector<std::function<void(GradingManifest&)>>{
           [](GradingManifest& m) { ++m.seed; }, [](GradingManifest& m) { m.isolation = Isolation::None; },
           [](GradingManifest& m) { m.judges += "x"; }, [](GradingManifest& m) { m.compiler += "x"; },
           [](GradingManifest& m) { m.scope += "x"; }}) {
    GradingManifest changed = terms;
    change(changed);
    EXPECT_FALSE(terms.decides_as(changed));
  }
}

}  // namespace
}  // namespace course::program::grader
