#include "judge/verdict.hpp"

#include <gtest/gtest.h>

namespace course {

namespace {

using Ending = Outcome::Ending;

Outcome outcome(Ending ending, const std::string& text) {
  Outcome made;
  made.ending = ending;
  made.text = text;
  return made;
}

/// One test's verdict on the given outcomes, in this order.
TestVerdict judged(const std::vector<Outcome>& outcomes, std::map<std::string, std::string> descriptions = {
                                                             {"wild_pointer", "a pointer points nowhere"}}) {
  Task task;
  task.id = "1";
  task.descriptions = std::move(descriptions);
  task.communication_checks = {[](const Example&, const Outcome& seen) {
    return seen.ending == Ending::Crashed ? std::vector<Finding>{{"wild_pointer", ""}}
                                          : std::vector<Finding>{};
  }};
  const GradedTest test{&task, 0};
  const Example example{"an input", {}};
  std::vector<PlayedTest> tests{{&test}};
  for (const Outcome& one : outcomes) tests[0].played.push_back({&example, &one, {}, {}, {}, {}, one.text});
  judge(tests);
  return tests[0].verdict;
}

TEST(Verdict, AFailureStandsWhateverElseIsNotWritten) {
  const Outcome crash = outcome(Ending::Crashed, "rank 0 died");
  const Outcome todo = outcome(Ending::Todo, "task 1 is not written");
  for (const std::vector<Outcome>& order : {std::vector{crash, todo}, std::vector{todo, crash}}) {
    const TestVerdict verdict = judged(order);
    EXPECT_EQ(verdict.status, TestVerdict::Status::Failed);
    EXPECT_EQ(verdict.text, "rank 0 died\non an input");
    EXPECT_EQ(verdict.mistakes, std::set<std::string>{"wild_pointer"});
  }
}

TEST(Verdict, LeavesOutANameThatTheLessonDoesNotHave) {
  const TestVerdict verdict = judged({outcome(Ending::Crashed, "rank 0 died")}, {});
  EXPECT_EQ(verdict.status, TestVerdict::Status::Failed);
  EXPECT_TRUE(verdict.mistakes.empty());
}

TEST(Verdict, IsTheSameAsOneOtherAlone) {
  Task task;
  task.id = "2";
  LessonInfo lesson;
  lesson.id = "05";
  std::vector<GradedTest> graded;
  for (const int ranks : {2, 3, 4, 5}) graded.push_back({&task, ranks});
  std::vector<PlayedTest> tests;
  for (const GradedTest& test : graded) tests.push_back({&test});
  const char* words[] = {"o is 1, should be 2", "rank 0 waits", "o is 3, should be 4", "rank 1 waits"};
  for (std::size_t i = 0; i < tests.size(); ++i)
    tests[i].verdict = {TestVerdict::Status::Failed, words[i], {}, nullptr};
  EXPECT_EQ(verdict_texts(lesson, tests, {}),
            "FAIL  lesson05.2.ranks2   o is 1, should be 2\n      the same on 4 ranks\n"
            "FAIL  lesson05.2.ranks3   rank 0 waits\n      the same on 5 ranks\n");
}

/// The verdicts of two tasks, of which the second uses the first one's function.
std::vector<std::string> told_of_two_tasks(Ending first, Ending second) {
  Task owner, ring;
  owner.id = "1";
  owner.function = "block_owner";
  ring.id = "2";
  ring.uses = "1";
  const GradedTest graded[] = {{&owner, 0}, {&ring, 2}};
  const Outcome outcomes[] = {outcome(first, ""), outcome(second, "")};
  const Example example{"an input", {}};
  const auto played = [&](int i) {
    const std::string complaint = outcomes[i].ending == Ending::Crashed ? "rank 0 died" : "";
    return PlayedTest{&graded[i], {{&example, &outcomes[i], {}, {}, {}, {}, complaint}}};
  };
  std::vector<PlayedTest> tests{played(0), played(1)};
  judge(tests);
  LessonInfo lesson;
  lesson.id = "05";
  return {verdict_text(lesson, graded[0], tests[0].verdict),
          verdict_text(lesson, graded[1], tests[1].verdict)};
}

TEST(Verdict, SaysFirstThatATaskFailsWhichThisOneUses) {
  const std::vector<std::string> both = told_of_two_tasks(Ending::Crashed, Ending::Crashed);
  EXPECT_EQ(both[0], "FAIL  lesson05.1   rank 0 died\n      on an input\n");
  EXPECT_EQ(both[1],
            "FAIL  lesson05.2.ranks2   task 1 fails: if this task uses its block_owner, that may be all that "
            "is wrong "
            "here\n      rank 0 died\n      on an input\n");
  for (const std::string& told : told_of_two_tasks(Ending::Todo, Ending::Crashed))
    EXPECT_EQ(told.find("that may be all"), std::string::npos) << told;
}

TEST(Verdict, IsTodoWhenNothingFailed) {
  const TestVerdict verdict = judged({outcome(Ending::Todo, "task 1 is not written")});
  EXPECT_EQ(verdict.status, TestVerdict::Status::Todo);
  EXPECT_EQ(verdict.text, "task 1 is not written");
}

TEST(Verdict, SaysThatNothingWasPlayed) {
  EXPECT_EQ(judged({outcome(Ending::NotPlayed, "")}).status, TestVerdict::Status::NotPlayed);
}

/// A task on one rank with one output, right where it is {1.5, -2.5, 3.25, 4.75}, that knows one mistake.
Task one_output() {
  const auto always = [](std::vector<double> values) {
    return [answer = Tensor64({4}, std::move(values))](const Example&) { return Answer{{"o", answer}}; };
  };
  Task task{.id = "1",
            .function = "f",
            .outputs = {{"o", {"row"}}},
            .examples = {},
            .expected = always({1.5, -2.5, 3.25, 4.75}),
            .baseline = always({1.5, -2.5, 3.25, 4.75})};
  task.mistakes = {{"tripled", always({4.5, -7.5, 9.75, 14.25})}};
  return task;
}

TestVerdict verdict_on(std::vector<float> values, bool hidden) {
  const Task task = one_output();
  const GradedTest test{&task, 0, hidden};
  const Example example{"an input", {}};
  Outcome returned = outcome(Ending::Finished, "");
  returned.outputs = {{{"o", Tensor({4}, std::move(values))}}};
  std::vector<PlayedTest> tests{{&test, {compare(task, example, task.expected(example), returned)}}};
  judge(tests);
  return tests[0].verdict;
}

TEST(Verdict, TellsThePatternOfAnAnswerWithoutAName) {
  const TestVerdict doubled = verdict_on({3, -5, 6.5, 9.5}, false);
  EXPECT_TRUE(doubled.mistakes.empty());
  EXPECT_TRUE(doubled.text.ends_with("on an input\no: every entry is 2 times what it should be"))
      << doubled.text;
  const TestVerdict tripled = verdict_on({4.5, -7.5, 9.75, 14.25}, false);
  EXPECT_EQ(tripled.mistakes, std::set<std::string>{"tripled"});
  EXPECT_TRUE(tripled.text.ends_with("on an input")) << tripled.text;
}

TEST(Verdict, OnOneInputByItselfSaysWhatThatLooksLikeAndEarnsNoName) {
  Task task = one_output();
  task.descriptions = {{"tripled", "it is three times as large"}};
  const GradedTest test{&task, 0};
  const Example example{"an input", {}};
  Outcome returned = outcome(Ending::Finished, "");
  returned.outputs = {{{"o", Tensor({4}, {4.5, -7.5, 9.75, 14.25})}}};
  std::vector<PlayedTest> tests{{&test, {compare(task, example, task.expected(example), returned)}}};
  judge(tests, true);
  EXPECT_TRUE(tests[0].verdict.mistakes.empty());
  EXPECT_EQ(tests[0].verdict.in_part, std::vector<std::string>{"tripled"});
  EXPECT_TRUE(tests[0].verdict.text.starts_with("on an input it looks like: it is three times as large\n"))
      << tests[0].verdict.text;
}

TEST(Verdict, SaysWhatPartOfItsToleranceAnAnswerTook) {
  EXPECT_EQ(verdict_on({1.5, -2.5, 3.25, 4.75}, false).taken.at("o").part, 0);
  // The norm is 6.45, of which 4e-6 are allowed beside a baseline that is right: 2.6e-5.
  const TakenTolerance half = verdict_on({1.5, -2.5, 3.25, 4.75f + 1.3e-5f}, false).taken.at("o");
  EXPECT_NEAR(half.part, 0.5, 0.02);
  EXPECT_EQ(half.what, "an input");
  EXPECT_GT(verdict_on({1.5, -2.5, 3.25, 5}, false).taken.at("o").part, 1);
}

/// The verdict on these answers to two kinds of input where {3, 4} is right, of a task that knows two
/// mistakes.
TestVerdict verdict_on_two_kinds(std::vector<float> first, std::vector<float> second) {
  const auto always = [](std::vector<double> values) {
    return [answer = Tensor64({2}, std::move(values))](const Example&) { return Answer{{"o", answer}}; };
  };
  Task task{.id = "1",
            .function = "f",
            .outputs = {{"o", {"row"}}},
            .examples = {},
            .expected = always({3, 4}),
            .baseline = always({3, 4})};
  task.mistakes = {{"doubled", always({6, 8})}, {"negated", always({-3, -4})}};
  task.descriptions = {{"doubled", "all is doubled"}, {"negated", "the sign is wrong"}};
  const GradedTest test{&task, 0};
  const Example kinds[] = {{"a short row", {}}, {"a long row", {}}};
  Outcome returned[] = {outcome(Ending::Finished, ""), outcome(Ending::Finished, "")};
  returned[0].outputs = {{{"o", Tensor({2}, std::move(first))}}};
  returned[1].outputs = {{{"o", Tensor({2}, std::move(second))}}};
  std::vector<PlayedTest> tests{{&test}};
  for (int i = 0; i < 2; ++i)
    tests[0].played.push_back(compare(task, kinds[i], task.expected(kinds[i]), returned[i]));
  judge(tests, true);
  return tests[0].verdict;
}

TEST(Verdict, TellsTwoMistakesByTheKindOfInputThatEachShowsOn) {
  const TestVerdict verdict = verdict_on_two_kinds({6, 8}, {-3, -4});
  EXPECT_TRUE(verdict.mistakes.empty());
  EXPECT_TRUE(
      verdict.text.starts_with("two mistakes, perhaps: on a short row it looks like: all is doubled\n"
                               "and on a long row it looks like: the sign is wrong\n"))
      << verdict.text;
}

TEST(Verdict, TellsOneMistakeInPartWhereItExplainsHalfOfWhatIsWrong) {
  const TestVerdict verdict = verdict_on_two_kinds({6, 8}, {1, 7});
  EXPECT_TRUE(verdict.mistakes.empty());
  EXPECT_TRUE(verdict.text.starts_with("on a short row it looks like: all is doubled\n")) << verdict.text;
}

TEST(Verdict, TellsWhatSingleOutputsLookLike) {
  Task task = one_output();
  task.outputs.push_back({"p", {"row"}});
  const auto both = [](double o, double p) {
    return [=](const Example&) { return Answer{{"o", Tensor64({1}, o)}, {"p", Tensor64({1}, p)}}; };
  };
  task.expected = task.baseline = both(1, 1);
  task.mistakes = {{"doubled", both(2, 2)}, {"lost", both(1, 0)}};
  task.descriptions = {{"doubled", "all is doubled"}, {"lost", "p is lost"}};
  const GradedTest test{&task, 0};
  const Example example{"an input", {}};
  Outcome returned = outcome(Ending::Finished, "");
  returned.outputs = {{{"o", Tensor({1}, 2)}, {"p", Tensor({1}, 0)}}};
  std::vector<PlayedTest> tests{{&test, {compare(task, example, task.expected(example), returned)}}};
  judge(tests);
  EXPECT_TRUE(tests[0].verdict.mistakes.empty());
  EXPECT_TRUE(
      tests[0].verdict.text.starts_with("in o it looks like: all is doubled\n"
                                        "in p it looks like: p is lost\n"))
      << tests[0].verdict.text;
}

TEST(Verdict, TellsNothingOfAHiddenInputsNumbers) {
  for (const std::vector<float>& values :
       {std::vector<float>{3, -5, 6.5, 9.5}, {0, 0, 0, 0}, {4.5, -7.5, 9.75, 14.25}})
    EXPECT_EQ(verdict_on(values, true).text, "o is wrong on a hidden input");
}

TEST(Verdict, TellsNothingThatThePlayerSaidOfAHiddenInput) {
  const Task task = one_output();
  const GradedTest test{&task, 0, true};
  const Example example{"an input", {}};
  for (const Ending ending : {Ending::Threw, Ending::Crashed, Ending::Lost}) {
    const Outcome ended = outcome(ending, "x: runtime error: 1.5");
    std::vector<PlayedTest> tests{{&test, {compare(task, example, task.expected(example), ended)}}};
    judge(tests);
    const std::string& text = tests[0].verdict.text;
    EXPECT_TRUE(text.ends_with("on a hidden input")) << text;
    EXPECT_EQ(text.find("1.5"), std::string::npos) << text;
  }
}

TEST(Verdict, SaysNoRankWhereThereIsOne) {
  const Task task = one_output();
  const Example example{"an input", {}};
  Outcome nothing = outcome(Ending::Finished, "");
  nothing.outputs.resize(1);
  EXPECT_EQ(compare(task, example, task.expected(example), nothing).complaint, "the function returned no o");
  nothing.outputs.resize(2);
  EXPECT_EQ(compare(task, example, task.expected(example), nothing).complaint, "rank 0 returned no o");
}

}  // namespace

}  // namespace course
