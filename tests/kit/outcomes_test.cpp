#include <gtest/gtest.h>

#include "judge/outcomes/recorder.hpp"
#include "judge/program/session.hpp"
#include "runner/temporary_folder.hpp"

namespace course {

namespace {

/// A toy lesson of two tasks, whose judge knows nothing of mistakes.
std::vector<Example> examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const auto& [what, rows, cols] :
       {std::tuple{"ordinary rows", 4, 7}, {"one row", 1, 5}, {"long rows", 3, 40}})
    all.push_back(
        {what, {{"x", generator.normal({rows, cols})}, {"w", generator.uniform_tensor({cols}, 1, 2)}}});
  return all;
}

template <class Sum>
Answer mean_of(const Example& example, bool weighted) {
  const Tensor& x = example.inputs.at("x");
  const Tensor& w = example.inputs.at("w");
  Tensor64 mean({x.extent(0)});
  for (Index row = 0; row < x.extent(0); ++row) {
    Sum sum = 0, weights = 0;
    for (Index col = 0; col < x.extent(1); ++col) {
      const Sum weight = weighted ? w[col] : 1;
      sum += weight * x[row * x.extent(1) + col];
      weights += weight;
    }
    mean[row] = sum / weights;
  }
  return {{"mean", mean}};
}

Task task(const std::string& id, const std::string& function, bool weighted) {
  return {.id = id,
          .function = function,
          .outputs = {{"mean", {"row"}}},
          .examples = examples,
          .expected = [=](const Example& example) { return mean_of<double>(example, weighted); },
          .baseline = [=](const Example& example) { return mean_of<float>(example, weighted); },
          .descriptions = {{"not_divided", "a"}, {"last_left_out", "b"}, {"weights_counted", "c"}}};
}

std::string subject(const std::string& answer) {
  return std::string(SUBJECTS) + "/kit_outcomes_" + answer + ".so";
}

std::vector<GradedTest> tests_of(const LessonJudge& judge) {
  std::vector<GradedTest> tests;
  for (const Task& one : judge.tasks) tests.push_back({&one, 0});
  return tests;
}

/// The lesson with what is recorded of its forms, as it is read from the file.
class NamedByOutcomes : public testing::Test {
 protected:
  NamedByOutcomes() {
    const TemporaryFolder folder;
    const auto file = folder.path() / "outcomes.tsv";
    JudgeOptions options;
    options.launcher.player = {PLAYER};
    options.launcher.subject = subject("right");
    std::vector<FormSubjects> forms;
    for (const char* form : {"not_divided", "last_left_out", "last_left_out.2", "weights_counted"})
      forms.push_back({form, subject(form), subject(form)});
    write_outcomes(file, record_outcomes(tests_of(judge_), forms, options));
    outcomes_ = read_outcomes(file);
    name_by_outcomes(judge_, outcomes_);
  }

  /// By task, the names that an answer has earned; of a task that passes "passed".
  std::map<std::string, std::set<std::string>> names(const std::string& answer, std::uint64_t seed = 1) {
    Session session{
        tests_of(judge_), Launcher({.subject = subject(answer), .player = {PLAYER}}), {.seed = seed}};
    session.play();
    std::map<std::string, std::set<std::string>> all;
    for (const PlayedTest& test : session.first.tests) {
      all[test.test->task->id] = test.failed() ? test.verdict.mistakes : std::set<std::string>{"passed"};
      stale_[answer] += stale_outcomes(outcomes_, answer, session.first);
    }
    return all;
  }

  LessonJudge judge_{"99", {task("1", "means", false), task("2", "weighted_means", true)}};
  RecordedOutcomes outcomes_;
  std::map<std::string, std::string> stale_;
};

using Names = std::map<std::string, std::set<std::string>>;

TEST_F(NamedByOutcomes, EachFormHasItsMistakesName) {
  EXPECT_EQ(names("not_divided"), (Names{{"1", {"not_divided"}}, {"2", {"passed"}}}));
  EXPECT_EQ(names("last_left_out"), (Names{{"1", {"last_left_out"}}, {"2", {"passed"}}}));
  EXPECT_EQ(names("last_left_out.2"), (Names{{"1", {"last_left_out"}}, {"2", {"passed"}}}));
  EXPECT_EQ(names("weights_counted"), (Names{{"1", {"passed"}}, {"2", {"weights_counted"}}}));
  for (const auto& [form, stale] : stale_) EXPECT_EQ(stale, "") << form;
}

TEST_F(NamedByOutcomes, SoHasAnAnswerThatMakesItInAnotherWay) {
  EXPECT_EQ(names("other_not_divided"), (Names{{"1", {"not_divided"}}, {"2", {"passed"}}}));
}

TEST_F(NamedByOutcomes, WhatIsNotKnownHasNone) {
  EXPECT_EQ(names("other_first_left_out"), (Names{{"1", {}}, {"2", {"passed"}}}));
  EXPECT_EQ(names("other_both_tasks"), (Names{{"1", {"not_divided"}}, {"2", {}}}));
}

TEST_F(NamedByOutcomes, AnotherSeedHasTheNamesOfTheRecordedOne) {
  EXPECT_EQ(names("not_divided", 7), (Names{{"1", {"not_divided"}}, {"2", {"passed"}}}));
  EXPECT_EQ(names("other_first_left_out", 7), (Names{{"1", {}}, {"2", {"passed"}}}));
}

TEST_F(NamedByOutcomes, ATaskHasNoneWhereTheOneThatItUsesFails) {
  judge_.tasks[1].uses = "1";
  EXPECT_EQ(names("weights_counted").at("2"), (std::set<std::string>{"weights_counted"}));
  judge_.tasks[0].uses = "2";
  judge_.tasks[1].uses = "";
  EXPECT_EQ(names("other_both_tasks").at("1"), std::set<std::string>{});
}

TEST_F(NamedByOutcomes, AFormThatComesOutOtherwiseIsStale) {
  names("not_divided");
  Session session{tests_of(judge_), Launcher({.subject = subject("last_left_out"), .player = {PLAYER}}), {}};
  session.play();
  EXPECT_NE(stale_outcomes(outcomes_, "not_divided", session.first)
                .find("test 1, on ordinary rows: not_divided comes out otherwise than recorded"),
            std::string::npos);
  EXPECT_EQ(stale_outcomes(outcomes_, "not_there", session.first),
            "not_there is not recorded yet: ./course test --lesson NN --record does that\n");
}

}  // namespace

}  // namespace course
