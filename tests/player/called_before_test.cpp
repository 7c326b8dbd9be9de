#include <gtest/gtest.h>

#include "player/earlier_calls.hpp"
#include "runner/launcher.hpp"

/// A function that keeps something from one call to the next, in a case that asks for calls before its own.
namespace course {

namespace {

using Ending = Outcome::Ending;

Tensor drawn(float first) {
  Tensor x({4, 2});
  for (Index i = 0; i < x.size(); ++i) x[i] = first + 0.3f * static_cast<float>(i);
  return x;
}

/// One launch of these functions, on two ranks.
std::vector<Outcome> play(const std::vector<std::string>& functions, bool called_before) {
  std::vector<Case> cases;
  for (const std::string& function : functions) {
    Case& one = cases.emplace_back(Case{{.function = function, .called_before = called_before}});
    for (const int rank : {0, 1})
      one.inputs.push_back({{"x", drawn(static_cast<float>(rank))}, {"y", drawn(0.7f)}});
    one.outputs["sum"] = {.largest_file = 1000};
  }
  return Launcher({.subject = SUBJECT, .player = {PLAYER_MPI}, .mpi = true}).play(cases);
}

float sum_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.ending, Ending::Finished) << outcome.text;
  return outcome.outputs.at(1).at("sum")[0];
}

TEST(CalledBefore, IsWrongWhereSomethingIsKeptAndRightElsewhere) {
  const std::vector<std::string> functions{"right",
                                           "by_input",
                                           "by_output",
                                           "by_size",
                                           "by_first_and_last",
                                           "by_numbers_of_one_input",
                                           "first_call_alone",
                                           "added_to_the_last"};
  const std::vector<Outcome> once = play(functions, false), again = play(functions, true);
  const float right = sum_of(once.front());
  for (const Outcome& outcome : once) EXPECT_EQ(sum_of(outcome), right);
  for (std::size_t i = 0; i < functions.size(); ++i)
    EXPECT_EQ(sum_of(again[i]) == right, functions[i] == "right") << functions[i];
}

TEST(CalledBefore, EndsAsTheFirstCallThatDoesNotFinish) {
  const Outcome outcome = play({"throws_at_first"}, true).front();
  EXPECT_EQ(outcome.ending, Ending::Threw);
  EXPECT_NE(outcome.text.find("the first call"), std::string::npos) << outcome.text;
}

TEST(EarlierInputs, ChangeAllBetweenTheEndsAndThenHalfOfTheInputs) {
  const std::map<std::string, Tensor> own{{"x", Tensor({4}, {0.5f, 3.0f, 2.5f, 1.5f})},
                                          {"y", Tensor({3}, {0.5f, 0.7f, 0.5f})}};
  const auto calls = earlier_inputs(own);
  ASSERT_EQ(calls.size(), static_cast<std::size_t>(earlier_calls));
  const std::vector<float> x{0.5f, 3.0f, 1.25f, 1.5f};  // 3 may count something
  EXPECT_EQ(calls[0].at("x").values(), x);
  EXPECT_EQ(calls[0].at("y").values(), (std::vector<float>{0.5f, 0.35f, 0.5f}));
  EXPECT_EQ(calls[1].at("x").values(), x);
  EXPECT_EQ(calls[1].at("y").values(), own.at("y").values());
}

TEST(EarlierInputs, ExchangeRowsOfWholeNumbers) {
  const auto calls = earlier_inputs({{"x", Tensor({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}});
  EXPECT_EQ(calls[0].at("x").values(), (std::vector<float>{1, 2, 5, 6, 3, 4, 7, 8}));
}

}  // namespace

}  // namespace course
