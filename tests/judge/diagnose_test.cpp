#include "judge/diagnosis/diagnose.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "../common/complaint.hpp"
#include "../common/sitting.hpp"
#include "protocol/fact_kinds.hpp"
#include "protocol/poison.hpp"

namespace course {

namespace {

/// A task whose baseline is `baseline` where {3, 4} is right, and that knows one mistake.
Task task_with(std::vector<double> baseline, std::vector<double> mistaken) {
  Task task = task_of_o({3, 4}, {{"known", std::move(mistaken)}});
  task.id = "2";
  task.baseline = always(std::move(baseline));
  return task;
}

Outcome returned(const std::vector<float>& values) {
  return returned(only_o({values.begin(), values.end()}));
}

const Example example{"some input", {}};

std::string complaint(const Task& task) {
  const Outcome outcome = returned({3, 4});
  return complaint_of<std::logic_error>(
      [&] { require_sharp(task, compare(task, example, task.expected(example), outcome)); });
}

TEST(Compare, ComplainsOfRanksWhoseShapesDoNotFitTogether) {
  Task task = task_with({3, 4}, {0, 0});
  Outcome outcome = returned({3, 4});
  outcome.outputs.push_back({{"o", Tensor({1, 2})}});
  const Played played = compare(task, example, task.expected(example), outcome);
  EXPECT_TRUE(played.answer.empty());
  EXPECT_NE(played.complaint.find("cannot concatenate shapes [2], [1, 2]"), std::string::npos)
      << played.complaint;
}

TEST(LargestTolerance, EndsAJudgeWhoseExampleAllowsMore) {
  Task task = task_with({3, 4.05}, {0, 0});  // off by 1 % of the norm, so that 8 % are allowed
  EXPECT_EQ(complaint(task), "nothing was thrown") << "unless the task says so, anything may be allowed";
  task.largest_tolerance = 0.09;
  EXPECT_EQ(complaint(task), "nothing was thrown");
  task.largest_tolerance = 0.07;
  EXPECT_EQ(complaint(task), "task 2, some input: o may be off by 0.08 of its norm, expected less than 0.07");
}

/// Whether the mistake whose answer is `mistaken` explains `answer`.
bool explained(std::vector<double> mistaken, std::vector<float> answer, bool mistakes_cancel) {
  Task task = task_with({3, 4}, std::move(mistaken));
  task.mistakes_cancel = mistakes_cancel;
  const Outcome outcome = returned(std::move(answer));
  const Played played = compare(task, example, task.expected(example), outcome);
  return explaining_mistakes(task, {&played}) == std::vector<std::string>{"known"};
}

TEST(MistakesCancel, MeasuresByTheTruthWhereTheMistakeIsNextToNothing) {
  // In exact numbers the mistake cancels to 0; in float32 rounding of the terms' size is left of it.
  EXPECT_FALSE(explained({0, 0}, {1e-7f, -2e-7f}, false));
  EXPECT_TRUE(explained({0, 0}, {1e-7f, -2e-7f}, true));
  EXPECT_FALSE(explained({0, 0}, {1e-3f, 0}, true)) << "that is more than rounding";
}

TEST(MistakesCancel, ChangesNothingWhereTheMistakeIsLarge) {
  for (const bool mistakes_cancel : {false, true}) {
    EXPECT_TRUE(explained({6, 8}, {6, 8}, mistakes_cancel));
    EXPECT_FALSE(explained({6, 8}, {6, 8.01f}, mistakes_cancel));
    EXPECT_FALSE(explained({6, 8}, {3, 4}, mistakes_cancel)) << "that is right";
  }
}

TEST(Mistake, ByWhichTheFunctionThrowsIsToldByWhatIsThrown) {
  Task task = task_with({3, 4}, {0, 0});
  task.mistakes = {
      {"leaves", always({3, 4}), [](const Example&, const Fact& told) { return told.extent == 7; }}};
  const auto explained = [&](std::optional<Fact> told, const Outcome& other) {
    Outcome threw;
    threw.ending = Outcome::Ending::Threw;
    threw.text = "threw: row 7 is outside 0..6";
    threw.told = std::move(told);
    const Played first = compare(task, example, task.expected(example), threw);
    const Played second = compare(task, example, task.expected(example), other);
    return explaining_mistakes(task, {&first, &second}) == std::vector<std::string>{"leaves"};
  };
  const Fact row_of_7{.kind = fact_outside_view, .text = "row 7 is outside 0..6", .extent = 7};
  EXPECT_TRUE(explained(row_of_7, returned({3, 4})));
  EXPECT_FALSE(explained(row_of_7, returned({3, 5}))) << "that is wrong in another way";
  EXPECT_FALSE(explained(Fact{.kind = fact_outside_view, .text = "row 7", .extent = 8}, returned({3, 4})));
  EXPECT_FALSE(explained({}, returned({3, 4}))) << "the student's own words are no fact";
}

TEST(Mistake, ByWhichAnythingMayComeOutIsToldByTheOtherExamples) {
  Task task = task_with({3, 4}, {0, 0});
  const Example unequal{"unequal", {}};
  task.mistakes = {{"stops_early", [&](const Example& one) {
                      return &one == &unequal ? std::nullopt : std::optional(always({6, 8})(one));
                    }}};
  const auto explained = [&](std::vector<float> certain, std::vector<float> other) {
    const Outcome first = returned(std::move(certain)), second = returned(std::move(other));
    const Played on_certain = compare(task, example, task.expected(example), first);
    const Played on_other = compare(task, unequal, task.expected(unequal), second);
    return explaining_mistakes(task, {&on_certain, &on_other}) == std::vector<std::string>{"stops_early"};
  };
  EXPECT_TRUE(explained({6, 8}, {17, -2}));
  EXPECT_TRUE(explained({6, 8}, {3, 4})) << "which may be right by chance";
  EXPECT_FALSE(explained({6, 9}, {17, -2}));
  EXPECT_FALSE(explained({3, 4}, {17, -2})) << "any wrong answer is no evidence";
}

TEST(Mistakes, AreToldOfTheOutputThatTheyExplain) {
  const auto both = [](double o, double p) {
    return [=](const Example&) { return Answer{{"o", Tensor64({1}, o)}, {"p", Tensor64({1}, p)}}; };
  };
  Task task{.id = "2",
            .function = "f",
            .outputs = {{"o", {"row"}}, {"p", {"row"}}},
            .examples = {},
            .expected = both(1, 1),
            .baseline = both(1, 1)};
  task.mistakes = {{"doubled", both(2, 2)}, {"tripled", both(1, 3)}, {"lost", both(0, 7)}};
  const auto told = [&](float o, float p) {
    Outcome outcome = returned({o});
    outcome.outputs[0]["p"] = Tensor({1}, p);
    const Played played = compare(task, example, task.expected(example), outcome);
    std::map<std::string, std::string> words;
    for (const auto& [output, look] : mistakes_by_output(task, {&played}))
      words[output] =
          look.mistake + (look.right_ones.empty() ? "" : ", but not in " + look.right_ones.front());
    return words;
  };
  using Told = std::map<std::string, std::string>;
  EXPECT_EQ(told(2, 3), (Told{{"o", "doubled"}, {"p", "tripled"}}));
  EXPECT_EQ(told(1, 2), (Told{{"p", "doubled, but not in o"}}));
  EXPECT_EQ(told(1, 3), (Told{{"p", "tripled"}}));
  EXPECT_EQ(told(5, 7), (Told{{"p", "lost"}}));
  task.mistakes.push_back({"swapped", both(9, 7)});
  EXPECT_EQ(told(5, 7), Told{}) << "two mistakes explain it";
}

TEST(Mistake, ThatMakesNaNExplainsNoneThatCameFromWhatNobodyWrote) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const float arithmetic = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(explained({nan, nan}, {arithmetic, arithmetic}, false));
  for (const std::uint32_t kept : {poison::output, poison::device}) {
    const float computed_from_it = std::bit_cast<float>(kept | poison::quiet);
    EXPECT_FALSE(explained({nan, nan}, {computed_from_it, computed_from_it}, false));
  }
}

TEST(MistakesByKind, TakeNothingForItFromAnAnswerThatIsNaNThroughout) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Example wide{"wide", {}};
  const auto kinds = [&](std::vector<float> on_wide) {
    Task task = task_with({3, 4}, {nan, 4});
    task.mistakes = {{"known", [&](const Example& one) {
                        return &one == &wide ? only_o({on_wide.begin(), on_wide.end()})
                                             : std::optional(always({0, 0})(one));
                      }}};
    const Outcome first = returned({7, 9}), second = returned(on_wide);
    const std::vector<Played> all{compare(task, example, task.expected(example), first),
                                  compare(task, wide, task.expected(wide), second)};
    return mistakes_by_kind(task, all);
  };
  const float not_a_number = std::numeric_limits<float>::quiet_NaN();
  using Kinds = std::map<std::string, std::vector<std::string>>;
  EXPECT_EQ(kinds({not_a_number, 9}), (Kinds{{"known", {"wide"}}}));
  EXPECT_EQ(kinds({not_a_number, not_a_number}), Kinds{}) << "many a mistake comes to that";
}

TEST(Mistake, ThatIsNextToTheTruthExplainsNothing) {
  EXPECT_FALSE(explained({3, 4.00001}, {3, 4.00002f}, false));
}

}  // namespace

}  // namespace course
