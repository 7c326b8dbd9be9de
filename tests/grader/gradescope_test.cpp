#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports.hpp"
#include "results_shape.hpp"

namespace course::program::grader {

namespace {

using Json = nlohmann::json;
using program::Status;

Json entry(const Json& results, const std::string& number) {
  for (const Json& test : results.at("tests")) {
    if (test.at("number") == number) return test;
  }
  ADD_FAILURE() << "there is no test " << number;
  return {};
}

/// Everything of results.json that a student can get to see.
std::string seen_by_students(Json results) {
  results.erase("extra_data");
  for (Json& test : results.at("tests")) test.erase("extra_data");
  return results.dump();
}

TEST(Gradescope, HasThePublishedShape) {
  for (const std::string& text : adversarial_texts()) {
    EXPECT_EQ(wrong_in_results(gradescope_report(report_with(text))), "");
  }
  EXPECT_EQ(wrong_in_results(gradescope_report(report_with_skipped())), "");
  EXPECT_EQ(wrong_in_results(gradescope_report(report_of({}))), "");
}

TEST(Gradescope, AdversarialNamesKeepTheShape) {
  for (const std::string& text : adversarial_texts()) {
    Report report = report_with("wrong");
    report.submission = text;
    report.manifest.compiler = text;
    EXPECT_EQ(wrong_in_results(gradescope_report(report)), "");
  }
}

TEST(Gradescope, AShapeThatIsWrongIsTold) {
  const auto with = [](const std::string& key, const Json& value) {
    Json results = Json::parse(gradescope_report(report_with("wrong")));
    results[Json::json_pointer(key)] = value;
    return wrong_in_results(results.dump());
  };
  EXPECT_NE(with("/seed", 1), "");
  EXPECT_NE(with("/score", "100"), "");
  EXPECT_NE(with("/stdout_visibility", "instructor"), "");
  EXPECT_NE(with("/tests/0/status", "skipped"), "");
  EXPECT_NE(with("/tests/0/visibility", "public"), "");
  EXPECT_NE(with("/tests/0/output_format", "plain"), "");
  EXPECT_NE(with("/tests/0/tags", Json::array({1})), "");
  EXPECT_NE(with("/tests/0/score", 61), "");
  EXPECT_NE(with("/tests/0/number", 1), "");
  EXPECT_NE(wrong_in_results("{}"), "");
  EXPECT_NE(wrong_in_results("{\"score\": 1"), "");
}

TEST(Gradescope, ScoresAreThePoints) {
  const Json results = Json::parse(gradescope_report(report_with("p[0] is nan")));
  EXPECT_EQ(results.at("score"), 40);
  EXPECT_EQ(entry(results, "01.1").at("score"), 0);
  EXPECT_EQ(entry(results, "01.1").at("max_score"), 60);
  EXPECT_EQ(entry(results, "01.1").at("status"), "failed");
  EXPECT_EQ(entry(results, "01.2").at("score"), 40);
  EXPECT_EQ(entry(results, "01.2").at("status"), "passed");
  double sum = 0;
  for (const Json& test : results.at("tests")) sum += test.value("score", 0.0);
  EXPECT_EQ(sum, 40);
}

TEST(Gradescope, OutputsAreTheDiagnoses) {
  const Json results = Json::parse(gradescope_report(report_with("p[0] is nan\non wide scores")));
  EXPECT_EQ(entry(results, "01.1").at("output"),
            "looks like: the row maximum is not subtracted\np[0] is nan\non wide scores");
  EXPECT_EQ(entry(results, "05.1").at("output"), "still to do: task 1");
  EXPECT_EQ(entry(results, "05.1").at("score"), 0);
}

TEST(Gradescope, RanksAreToldAndTagged) {
  const Report report =
      report_of({graded(lessons()[1], {{"1", result(Status::Passed)},
                                       {"2.ranks1", result(Status::Passed)},
                                       {"2.ranks3", result(Status::Failed, "o is wrong")}})});
  const Json task = entry(Json::parse(gradescope_report(report)), "05.2");
  EXPECT_EQ(task.at("output"), "not passed on 3 ranks (played on 1, 3)\no is wrong");
  EXPECT_EQ(task.at("tags"), Json({"lesson05", "ranks1", "ranks3"}));
}

TEST(Gradescope, HiddenTestsHaveNoPointsAndWaitForPublication) {
  const Json results = Json::parse(gradescope_report(report_with("wrong")));
  const Json hidden = entry(results, "05.2.2");
  EXPECT_FALSE(hidden.contains("score"));
  EXPECT_FALSE(hidden.contains("max_score"));
  EXPECT_EQ(hidden.at("visibility"), "after_published");
  EXPECT_EQ(hidden.at("status"), "failed");
  EXPECT_EQ(entry(results, "05.2.1").at("status"), "passed");
  EXPECT_EQ(entry(results, "05.2").at("status"), "failed");
}

TEST(Gradescope, StudentsSeeNeitherSeedNorHiddenValuesNorTerms) {
  const Json results = Json::parse(gradescope_report(report_with("wrong")));
  const std::string seen = seen_by_students(results);
  for (const std::string& secret :
       {std::to_string(secret_seed), std::string(secret_value), std::string("waits"),
        std::string("0123456789ab"), std::string("Debian")}) {
    EXPECT_EQ(seen.find(secret), std::string::npos) << secret;
  }
  EXPECT_NE(seen.find("only P - 1 blocks are attended to"), std::string::npos);
  EXPECT_EQ(results.at("extra_data").at("terms").at("seed"), secret_seed);
  EXPECT_EQ(results.at("extra_data").at("terms").at("isolation"), "user");
  EXPECT_EQ(results.at("stdout_visibility"), "hidden");
  EXPECT_EQ(results.dump().find(secret_value), std::string::npos);
}

// What a skeleton's exception says is the student's to choose, too.
TEST(Gradescope, ATodoOnHiddenInputsIsNotQuoted) {
  const Report report = report_of({graded(lessons()[0], {{"1", result(Status::Passed)},
                                                         {"1.hidden", result(Status::Todo, secret_value)},
                                                         {"2", result(Status::Passed)}})});
  EXPECT_EQ(gradescope_report(report).find(secret_value), std::string::npos);
  EXPECT_EQ(entry(Json::parse(gradescope_report(report)), "01.1").at("score"), 0);
}

TEST(Gradescope, SkippedIsNoPassAndTheStudentIsTold) {
  const Json results = Json::parse(gradescope_report(report_with_skipped()));
  for (const char* number : {"05.1", "05.2"}) {
    const Json task = entry(results, number);
    EXPECT_EQ(task.at("score"), 0);
    EXPECT_EQ(task.at("status"), "failed");
    EXPECT_NE(task.at("output").get<std::string>().find("no mistake of yours (there is no mpirun)"),
              std::string::npos);
    EXPECT_EQ(task.at("extra_data").at("status"), "skipped");
  }
  EXPECT_EQ(results.at("score"), 100);
  EXPECT_NE(results.at("output").get<std::string>().find("lesson 05 was skipped: its 100 points"),
            std::string::npos);
  // What instructors search for before they publish.
  EXPECT_EQ(results.at("extra_data").at("reason"), "lesson 05: there is no mpirun");
  EXPECT_FALSE(Json::parse(gradescope_report(report_with("")))["extra_data"].contains("reason"));
}

TEST(Gradescope, ATaskWithoutPointsIsNoPassEither) {
  std::vector<LessonInfo> free = program::two_lessons();
  free[0].tasks[0].points = 0;
  const Report report =
      report_of({graded(free[0], {{"1", result(Status::Failed, "wrong")}, {"2", result(Status::Passed)}})});
  EXPECT_EQ(entry(Json::parse(gradescope_report(report)), "01.1").at("status"), "failed");
}

TEST(Gradescope, ATimeOutIsNoPointsWithTheReason) {
  const Report report = report_of(
      {{program::lesson_status_as_a_whole(lessons()[0], Status::Failed, "it ran for more than 120 s"), {}}});
  const Json results = Json::parse(gradescope_report(report));
  EXPECT_EQ(results.at("score"), 0);
  EXPECT_EQ(entry(results, "01.1").at("output"), "it ran for more than 120 s");
  EXPECT_EQ(entry(results, "01.1").at("status"), "failed");
}

TEST(Gradescope, ALongDiagnosisIsCutAndSaysSo) {
  for (const std::string& text : {std::string(1 << 20, 'x'), std::string(1 << 20, '\xE2')}) {
    const Json results = Json::parse(gradescope_report(report_with(text)));
    const std::string output = entry(results, "01.1").at("output");
    EXPECT_LT(output.size(), longest_text + 100);
    EXPECT_NE(output.find("[cut here: the whole text has 10"), std::string::npos);
  }
}

TEST(PresentableText, KeepsWhatIsFine) {
  for (const std::string& text :
       {std::string("a\tb\nc"), std::string("−∞ < x ≤ 1, \"µ\" & 😀"), std::string()}) {
    EXPECT_EQ(presentable(text), text);
  }
}

TEST(PresentableText, ReplacesByteByByteWhatIsNoCharacter) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(presentable(std::string("a\0b", 3)), "a" + bad + "b");
  EXPECT_EQ(presentable("\x1b[0m"), bad + "[0m");
  EXPECT_EQ(presentable("\xED\xA0\x80"), bad + bad + bad);
  EXPECT_EQ(presentable("\xC0\xAF"), bad + bad);
  EXPECT_EQ(presentable("\xF0\x9F\x99"), bad + bad + bad);
  EXPECT_EQ(presentable("\xEF\xBF\xBF"), bad);
}

}  // namespace

}  // namespace course::program::grader
