#include <gtest/gtest.h>

#include "judge/checks/traffic_checks.hpp"
#include "judge/outcomes/recorder.hpp"
#include "judge/program/session.hpp"
#include "ring/shards.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course {

namespace {

// A toy lesson in which a right answer may be a mistake by what it sends: x [heads, tokens, d] of token
// shards becomes y [heads, tokens, d] of head shards.

constexpr Index heads = 5, width = 3;

Layout head_shares(const Example& example) {
  return Layout(even_shards(heads, example.ranks()));
}

std::vector<Example> examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (const char* what : {"unequal shards", "other unequal shards"}) {
    const Layout layout(unequal_shards(generator, ranks));
    const std::vector<int> tokens = layout.shard_tokens();
    all.push_back({what,
                   {{"x", generator.normal({heads, layout.tokens(), width})}},
                   {{"shard_tokens", {tokens.begin(), tokens.end()}}},
                   layout});
  }
  return all;
}

std::int64_t needed(const Example& example, int from, int to) {
  return head_shares(example).tokens(to) * example.layout.tokens(from) * width * Index{sizeof(float)};
}

Task transpose() {
  const auto same = [](const Example& example) {
    return Answer{{"y", cast<double>(example.inputs.at("x"))}};
  };
  return {.id = "1",
          .function = "transpose",
          .outputs = {{.name = "y", .axes = {"head", "row", "col"}, .layout = head_shares}},
          .examples = examples,
          .expected = same,
          .baseline = same,
          .descriptions = {{"everything_gathered", "a"}, {"tokens_from_the_second", "b"}},
          .communication_checks = {checks::sends_only_what_is_needed(needed, "")},
          .split_axis = {{"x", 1}}};
}

std::string subject(const std::string& answer) {
  return std::string(SUBJECTS) + "/kit_" + answer + ".so";
}

/// The lesson with what is recorded of two mistakes, as it is read from the file.
class NamedByBytes : public testing::Test {
 protected:
  NamedByBytes() {
    const TemporaryFolder folder;
    JudgeOptions options;
    options.launcher.player = {PLAYER_MPI};
    options.launcher.mpi = true;
    options.launcher.subject = SUBJECT;
    std::vector<FormSubjects> forms;
    for (const char* form : {"everything_gathered", "tokens_from_the_second"})
      forms.push_back({form, subject(form), subject(form)});
    write_outcomes(folder.path() / "outcomes.tsv", record_outcomes(tests(), forms, options));
    text_ = read_text(folder.path() / "outcomes.tsv");
    outcomes_ = read_outcomes(folder.path() / "outcomes.tsv");
    name_by_outcomes(judge_, outcomes_);
  }

  std::vector<GradedTest> tests() const {
    std::vector<GradedTest> all;
    for (const int ranks : {1, 2, 3}) all.push_back({&judge_.tasks[0], ranks});
    return all;
  }

  /// By the number of ranks; of a test that passes "passed".
  std::map<int, std::set<std::string>> names(const std::string& answer) {
    tests_ = tests();
    session_.emplace(Session{
        tests_, Launcher({.subject = subject(answer), .player = {PLAYER_MPI}, .mpi = true}), {.seed = 1}});
    session_->play();
    std::map<int, std::set<std::string>> all;
    for (const PlayedTest& test : session_->first.tests)
      all[test.test->ranks] = test.failed() ? test.verdict.mistakes : std::set<std::string>{"passed"};
    return all;
  }

  LessonJudge judge_{"99", {transpose()}};
  RecordedOutcomes outcomes_;
  std::string text_;
  std::vector<GradedTest> tests_;
  std::optional<Session> session_;
};

using Names = std::map<int, std::set<std::string>>;

TEST_F(NamedByBytes, ARightAnswerThatSendsAsMuchAsAMistakeHasItsName) {
  const Names gathered{{1, {"passed"}}, {2, {"everything_gathered"}}, {3, {"everything_gathered"}}};
  EXPECT_EQ(names("everything_gathered"), gathered);
  EXPECT_EQ(stale_outcomes(outcomes_, "everything_gathered", session_->first), "");
  EXPECT_EQ(names("everything_sent_round"), gathered) << "by messages, and not by a collective";
}

TEST_F(NamedByBytes, OneThatSendsAnythingElseHasNone) {
  EXPECT_EQ(names("one_number_more"), (Names{{1, {"passed"}}, {2, {}}, {3, {}}}));
  EXPECT_NE(stale_outcomes(outcomes_, "everything_gathered", session_->first), "");
}

TEST_F(NamedByBytes, WrongNumbersHaveTheNameOfTheirOwnMistake) {
  const std::set<std::string> own{"tokens_from_the_second"};
  EXPECT_EQ(names("tokens_from_the_second"), (Names{{1, own}, {2, own}, {3, own}}));
}

/// Wrong numbers may come with bytes that the mistake's one recorded form did not send.
TEST_F(NamedByBytes, WrongNumbersThatAreOneMistakesAloneAreSoWhateverIsSent) {
  for (auto& [digits, known] : outcomes_.examples.at("1")) {
    std::optional<RecordedOutcome>& second = known.by_form.at("tokens_from_the_second");
    EXPECT_FALSE(second->sent) << "it sends what a right answer does";
    if (known.test != "1.ranks1") second->sent = SentBytes{.by_form = 1'000'000, .by_right = 4};
  }
  EXPECT_EQ(names("tokens_from_the_second").at(3), std::set<std::string>{"tokens_from_the_second"});
}

TEST_F(NamedByBytes, OfTwoMistakesWithTheSameNumbersItIsTheOneThatSendsAsMuch) {
  outcomes_.forms.push_back("everything_gathered.2");
  for (auto& [digits, known] : outcomes_.examples.at("1")) {
    RecordedOutcome other = known.by_form.at("tokens_from_the_second").value();
    if (known.test != "1.ranks1") other.sent = SentBytes{.by_form = 1'000'000, .by_right = 4};
    known.by_form["everything_gathered.2"] = other;
  }
  name_by_outcomes(judge_, outcomes_);
  EXPECT_EQ(names("tokens_from_the_second").at(3), std::set<std::string>{"tokens_from_the_second"});
}

TEST_F(NamedByBytes, TheFileHasThemOnlyWhereTheyAreNotARightAnswers) {
  std::size_t told = 0;
  for (const std::string& line : lines_of(text_)) {
    const bool has_bytes = line.find("\tbytes:") != std::string::npos;
    EXPECT_TRUE(!has_bytes || line.starts_with("everything_gathered\t")) << line;
    told += has_bytes ? 1 : 0;
  }
  EXPECT_EQ(told, 6U) << "two inputs and the one that is called before, on two and on three ranks";
}

}  // namespace

}  // namespace course
