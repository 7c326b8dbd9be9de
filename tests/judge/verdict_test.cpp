#include "judge/diagnosis/verdict.hpp"

#include <gtest/gtest.h>

#include "../common/sitting.hpp"
#include "protocol/fact_kinds.hpp"

namespace course {

namespace {

using Ending = Outcome::Ending;

Outcome outcome(Ending ending, const std::string& text) {
  Outcome made;
  made.ending = ending;
  made.text = text;
  return made;
}

/// One test's verdict on the given outcomes, in this order; those of these places are of large inputs.
TestVerdict judged(const std::vector<Outcome>& outcomes,
                   std::map<std::string, std::string> descriptions = {{"wild_pointer",
                                                                       "a pointer points nowhere"}},
                   const std::set<std::size_t>& large = {}) {
  Task task;
  task.id = "1";
  task.descriptions = std::move(descriptions);
  task.communication_checks = {[](const Example&, const Outcome& seen) {
    return seen.ending == Ending::Crashed ? std::vector<Finding>{{"wild_pointer", ""}}
                                          : std::vector<Finding>{};
  }};
  const GradedTest test{&task, 0};
  const Example example{"an input", {}};
  Example large_one = example;
  large_one.large = true;
  std::vector<PlayedTest> tests{{&test}};
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    tests[0].played.push_back(
        {large.contains(i) ? &large_one : &example, &outcomes[i], {}, {}, {}, {}, outcomes[i].text});
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

/// How a call ended that returned `given` and 1 where both should be 1.
std::string ending_of_answer(double given) {
  Outcome returned;
  returned.ending = Ending::Finished;
  Played played;
  played.outcome = &returned;
  played.expected = {{"p", Tensor64({2}, {1.0, 1.0})}};
  played.tolerance = {{"p", 1e-6}};
  played.answer = {{"p", Tensor64({2}, {given, 1.0})}};
  return ending_of(played);
}

TEST(Verdict, OfARightAnswerThatFailsTheEndingIsABrokenRule) {
  EXPECT_EQ(ending_of_answer(1.0), "broke a rule");
  EXPECT_EQ(ending_of_answer(2.0), "");
  const Outcome deadlock = outcome(Ending::Deadlock, "rank 0 waits");
  Played stands_still;
  stands_still.outcome = &deadlock;
  EXPECT_EQ(ending_of(stands_still), "deadlock");
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

TEST(Verdict, SaysOfATestThatWasNotPlayedWhichLimitEndedItsTask) {
  Task task;
  task.id = "2";
  const GradedTest graded[] = {{&task, 2, true}, {&task, 3}};
  const Outcome ended = outcome(Ending::OverLimit, "ended: it ran for more than 120 s"), not_played;
  const Example example{"an input", {}};
  std::vector<PlayedTest> tests{{&graded[0], {{&example, &ended, {}, {}, {}, {}, ended.text}}},
                                {&graded[1], {{&example, &not_played, {}, {}, {}, {}, ""}}}};
  judge(tests);
  EXPECT_EQ(tests[1].verdict.status, TestVerdict::Status::NotPlayed);
  EXPECT_EQ(tests[1].verdict.text, "not played: an earlier input was ended: it ran for more than 120 s");
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
            "here\n      rank 0 died\n      ./course check 05 --task 2 tells more\n");
  for (const std::string& told : told_of_two_tasks(Ending::Todo, Ending::Crashed))
    EXPECT_EQ(told.find("that may be all"), std::string::npos) << told;
}

/// What is told of a task that uses another one that fails.
std::string told_beside(const std::vector<std::string>& in_part, bool hidden, bool whole = false) {
  Task ring;
  ring.id = "2";
  LessonInfo lesson;
  lesson.id = "05";
  TestVerdict verdict;
  verdict.status = TestVerdict::Status::Failed;
  verdict.text = "it looks like: one\nand like: two\no is 1\nmore";
  verdict.in_part = in_part;
  verdict.before = "task 1 fails\n";
  return verdict_text(lesson, {&ring, 2, hidden}, verdict, whole);
}

TEST(Verdict, BesideAnotherTasksFailureIsCutBehindTheMistakesThatItLooksLike) {
  const std::string more = "\n      ./course check 05 --task 2 tells more\n";
  EXPECT_TRUE(told_beside({}, false).ends_with("task 1 fails\n      it looks like: one" + more));
  EXPECT_TRUE(told_beside({"a", "b"}, false).ends_with("it looks like: one\n      and like: two" + more));
  EXPECT_TRUE(told_beside({}, true).ends_with("\n      o is 1\n      more\n")) << "nothing tells more of it";
  EXPECT_TRUE(told_beside({}, false, true).ends_with("and like: two\n      o is 1\n      more\n"));
}

TEST(Verdict, SaysWhyInputsWereNotPlayed) {
  const Outcome crash = outcome(Ending::Crashed, "rank 0 died"), threw = outcome(Ending::Threw, "bad size");
  EXPECT_EQ(judged({crash, {}}).text,
            "rank 0 died\non an input\n1 of 1 inputs fail; 1 more was not played: it ended the program");
  EXPECT_EQ(judged({threw, crash, {}, {}}, {}).text,
            "bad size\non an input\n"
            "2 of 2 inputs fail; 2 more were not played: the one on an input ended the program:\n"
            "  rank 0 died");
  EXPECT_EQ(judged({threw, {}}, {}, {1}).text,
            "bad size\non an input\n"
            "1 of 1 inputs fail; 1 more was not played: large inputs are, once all others pass");
}

TEST(Verdict, IsTodoWhenNothingFailed) {
  const TestVerdict verdict = judged({outcome(Ending::Todo, "task 1 is not written")});
  EXPECT_EQ(verdict.status, TestVerdict::Status::Todo);
  EXPECT_EQ(verdict.text, "task 1 is not written");
}

TEST(Verdict, SaysThatNothingWasPlayed) {
  EXPECT_EQ(judged({outcome(Ending::NotPlayed, "")}).status, TestVerdict::Status::NotPlayed);
}

const Example an_input{"an input", {}};

/// A task on one rank with one output that knows one mistake.
Task one_output() {
  return task_of_o({1.5, -2.5, 3.25, 4.75}, {{"tripled", {4.5, -7.5, 9.75, 14.25}}});
}

TestVerdict verdict_on(std::vector<double> values, bool hidden) {
  return Sitting(one_output(), {an_input}, always(std::move(values))).verdict(hidden);
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

TEST(Verdict, SaysFirstThatAnOutputIs0) {
  Task task = one_output();
  task.readings = {{"every answer is 0 times itself", always({0, 0, 0, 0})}};
  const std::vector<Example> two{an_input, {"another input", {}}};
  const TestVerdict verdict = Sitting(task, two, always({0, 0, 0, 0})).verdict();
  EXPECT_TRUE(verdict.text.starts_with("o is 0 everywhere\nevery answer is 0 times itself\n"))
      << verdict.text;
  EXPECT_EQ(verdict.text.find("exactly 0"), std::string::npos) << verdict.text;
  EXPECT_TRUE(Sitting(task, {an_input}, always({0, 0, 0, 0})).verdict().text.starts_with("every answer is"))
      << "one input says little of others";
  task.mistakes.push_back({"lost", always({0, 0, 0, 0})});
  const TestVerdict named = Sitting(task, two, always({0, 0, 0, 0})).verdict();
  EXPECT_EQ(named.mistakes, std::set<std::string>{"lost"});
  EXPECT_EQ(named.text.find("everywhere"), std::string::npos) << named.text;
}

TEST(Verdict, SaysLaterThatAnOutputIs0OnOneInputAlone) {
  Sitting sitting(one_output());
  sitting.play({"a short row", {}}, always({0, 0, 0, 0}));
  sitting.play({"a long row", {}}, always({0, 1, 1, 3}));
  const std::string text = sitting.verdict().text;
  EXPECT_TRUE(text.starts_with("o[row")) << text;
  EXPECT_NE(text.find("on a short row\no is 0 everywhere\n"), std::string::npos) << text;
}

/// The verdict on answers by ranks that are each `times(ranks)` what is right, of rings of these sizes.
std::string told_of_rings(const std::vector<int>& sizes, double (*times)(int ranks)) {
  const auto x_times = [](double factor) {
    return [=](const Example& example) {
      Tensor64 o = cast<double>(example.inputs.at("k"));
      for (double& entry : o.values()) entry *= factor;
      return Answer{{"o", o}};
    };
  };
  const Task task{.id = "1",
                  .function = "f",
                  .outputs = {{"o", {"head", "row", "col"}, 1}},
                  .examples = {},
                  .expected = x_times(1),
                  .baseline = x_times(1)};
  Sitting sitting(task);
  for (const int ranks : sizes) {
    Example ring{"a ring", {{"k", Tensor({2, ranks, 5})}}, {}, std::vector<int>(ranks, 1)};
    for (Index i = 0; float& entry : ring.inputs.at("k").values()) entry = 0.3f + static_cast<float>(i++ % 7);
    sitting.play(ring, x_times(times(ranks)));
  }
  return sitting.verdict(false, false, sizes.front()).text;
}

TEST(Verdict, SaysWhatAFactorIsOnEveryInput) {
  const char* const twice = "every entry is 2 times what it should be";
  const auto as_ranks = [](int ranks) { return static_cast<double>(ranks); };
  EXPECT_NE(told_of_rings({2, 3}, as_ranks).find("every entry is 2 (the number of ranks) times"),
            std::string::npos)
      << told_of_rings({2, 3}, as_ranks);
  EXPECT_NE(told_of_rings({2}, as_ranks).find(twice), std::string::npos);
  EXPECT_NE(told_of_rings({2, 3}, [](int) { return 2.0; }).find(twice), std::string::npos);
  EXPECT_NE(told_of_rings({3, 4}, [](int) { return 3.0; }).find("is 3 times"), std::string::npos)
      << "the number of ranks on one input by chance";
}

TEST(Verdict, TellsTwoMistakesBetweenWhichNoInputDecides) {
  Task task = task_of_o({1, 2}, {{"doubled", {2, 4}}, {"added", {2, 4}}, {"lost", {0, 0}}});
  task.descriptions = {
      {"doubled", "all is doubled"}, {"added", "all is added twice"}, {"lost", "all is lost"}};
  const TestVerdict verdict = Sitting(task, {an_input}, always({2, 4})).verdict();
  EXPECT_TRUE(verdict.mistakes.empty());
  EXPECT_TRUE(verdict.in_part.empty());
  EXPECT_TRUE(
      verdict.text.starts_with("no input here tells which of two mistakes it is: either all is added "
                               "twice\nor all is doubled\n"))
      << verdict.text;
  task.mistakes.push_back({"third", always({2, 4})});
  EXPECT_EQ(Sitting(task, {an_input}, always({2, 4})).verdict().text.find("either"), std::string::npos);
}

TEST(Verdict, TellsAShorterMessageBesideAWrongAnswerWithoutAName) {
  const Example ring{"a ring", {}, {}, std::vector<int>{2, 2}};
  const auto verdict_of = [&](std::vector<double> values) {
    Outcome outcome = returned(only_o(std::move(values)), ring.layout, 0);
    outcome.facts = {{},
                     {{.kind = fact_short_message,
                       .text = "MPI_Recv from rank 0 (tag 1, 16 bytes)",
                       .bytes = 4,
                       .room = 16}}};
    Sitting sitting(one_output());
    sitting.play(ring, std::move(outcome));
    return sitting.verdict(false, false, 2);
  };
  const char* const told = "rank 1: MPI_Recv from rank 0 (tag 1, 16 bytes) got 4 bytes";
  EXPECT_NE(verdict_of({1.5, -2.5, 1, 2}).text.find(told), std::string::npos);
  EXPECT_EQ(verdict_of({4.5, -7.5, 9.75, 14.25}).text.find(told), std::string::npos) << "it has a name";
  EXPECT_EQ(verdict_of({1.5, -2.5, 3.25, 4.75}).status, TestVerdict::Status::Passed);
}

TEST(Verdict, OnOneInputByItselfSaysNoCause) {
  Task task = one_output();
  task.descriptions = {{"tripled", "it is three times as large"}};
  const TestVerdict verdict =
      Sitting(task, {an_input}, always({4.5, -7.5, 9.75, 14.25})).verdict(false, true);
  EXPECT_TRUE(verdict.mistakes.empty());
  EXPECT_TRUE(verdict.in_part.empty());
  EXPECT_EQ(verdict.text.find("three times"), std::string::npos) << verdict.text;
  EXPECT_TRUE(verdict.text.ends_with("4 of 4 wrong\non an input")) << verdict.text;
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
TestVerdict verdict_on_two_kinds(std::vector<double> first, std::vector<double> second) {
  Task task = task_of_o({3, 4}, {{"doubled", {6, 8}}, {"negated", {-3, -4}}});
  task.descriptions = {{"doubled", "all is doubled"}, {"negated", "the sign is wrong"}};
  Sitting sitting(task);
  sitting.play({"a short row", {}}, always(std::move(first)));
  sitting.play({"a long row", {}}, always(std::move(second)));
  return sitting.verdict();
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
  const TestVerdict verdict = Sitting(task, {an_input}, both(2, 0)).verdict();
  EXPECT_TRUE(verdict.mistakes.empty());
  EXPECT_TRUE(
      verdict.text.starts_with("in o it looks like: all is doubled\n"
                               "in p it looks like: p is lost\n"))
      << verdict.text;
  EXPECT_EQ(verdict.in_part, (std::vector<std::string>{"doubled", "lost"}));
}

TEST(Verdict, KeepsTheMistakesOfOneOutputWhereOthersAreRightApart) {
  Task task = one_output();
  task.outputs.push_back({"p", {"row"}});
  const auto both = [](double o, double p) {
    return [=](const Example&) { return Answer{{"o", Tensor64({1}, o)}, {"p", Tensor64({1}, p)}}; };
  };
  task.expected = task.baseline = both(1, 1);
  task.mistakes = {{"doubled", both(2, 2)}};
  task.descriptions = {{"doubled", "all is doubled"}};
  const TestVerdict verdict = Sitting(task, {an_input}, both(2, 1)).verdict();
  EXPECT_TRUE(verdict.text.starts_with("in o it looks like: all is doubled, and yet p is right\n"))
      << verdict.text;
  EXPECT_TRUE(verdict.in_part.empty());
  EXPECT_EQ(verdict.of_outputs, std::vector<std::string>{"doubled"});
}

TEST(Verdict, SaysWhichFactItShowsAndWhetherALineIsNamed) {
  const auto verdict = [](Outcome seen, Finding finding, bool hidden = false) {
    Task task = one_output();
    task.communication_checks = {[=](const Example&, const Outcome&) { return std::vector{finding}; }};
    Sitting sitting(std::move(task));
    sitting.play(an_input, std::move(seen));
    return sitting.verdict(hidden);
  };
  const Finding kernel{"", "attend on line 89", fact_out_of_bounds, true}, no_fact{"", ""};
  const Outcome threw = outcome(Ending::Threw, "an error on line 12, beyond its end");
  EXPECT_EQ(verdict(threw, kernel).fact, fact_out_of_bounds);
  EXPECT_TRUE(verdict(threw, kernel).has_line);
  EXPECT_FALSE(verdict(threw, kernel, true).has_line) << "nothing of a hidden input's is shown";
  EXPECT_EQ(verdict(threw, kernel, true).fact, "");
  EXPECT_FALSE(verdict(threw, no_fact).has_line) << "a student's own exception may have any words";
  EXPECT_EQ(verdict(threw, no_fact).fact, "");
  Outcome told = threw;
  told.told = Fact{fact_beyond_output, threw.text};
  EXPECT_EQ(verdict(told, kernel).fact, fact_beyond_output) << "the exception comes before the findings";
  Outcome crashed = outcome(Ending::Crashed, "it died in AddressSanitizer.cpp");
  EXPECT_TRUE(verdict(crashed, no_fact).has_line);
  crashed.by_signal = true;
  EXPECT_FALSE(verdict(crashed, no_fact).has_line);
}

TEST(Verdict, TellsNothingOfAHiddenInputsNumbers) {
  for (const std::vector<double>& values :
       {std::vector<double>{3, -5, 6.5, 9.5}, {0, 0, 0, 0}, {4.5, -7.5, 9.75, 14.25}})
    EXPECT_EQ(verdict_on(values, true).text, "o is wrong on a hidden input");
}

TEST(Verdict, TellsNothingThatThePlayerSaidOfAHiddenInput) {
  for (const Ending ending : {Ending::Threw, Ending::Crashed, Ending::Lost}) {
    Sitting sitting(one_output());
    sitting.play(an_input, outcome(ending, "x: runtime error: 1.5"));
    const std::string text = sitting.verdict(true).text;
    EXPECT_TRUE(text.ends_with("on a hidden input")) << text;
    EXPECT_EQ(text.find("1.5"), std::string::npos) << text;
  }
}

TEST(Verdict, SaysNoRankWhereThereIsOne) {
  const Task task = one_output();
  const Example& example = an_input;
  Outcome nothing = outcome(Ending::Finished, "");
  nothing.outputs.resize(1);
  EXPECT_EQ(compare(task, example, task.expected(example), nothing).complaint, "the function returned no o");
  nothing.outputs.resize(2);
  EXPECT_EQ(compare(task, example, task.expected(example), nothing).complaint, "rank 0 returned no o");
}

}  // namespace

}  // namespace course
