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

Outcome play(const std::string& function, int ranks, bool called_before) {
  Case one{{.function = function, .called_before = called_before}};
  for (int rank = 0; rank < ranks; ++rank)
    one.inputs.push_back({{"x", drawn(static_cast<float>(rank))}, {"y", drawn(0.7f)}});
  one.outputs["sum"] = {.largest_file = 1000};
  return Launcher({.subject = SUBJECT, .player = {PLAYER_MPI}, .mpi = true}).play({one}).at(0);
}

float sum_of(const Outcome& outcome, int rank) {
  EXPECT_EQ(outcome.ending, Ending::Finished) << outcome.text;
  return outcome.outputs.at(static_cast<std::size_t>(rank)).at("sum")[0];
}

class CalledBefore : public testing::TestWithParam<const char*> {};

TEST_P(CalledBefore, IsWrongWhereSomethingIsKeptAndRightWithoutThat) {
  for (const int ranks : {1, 2}) {
    const float right = sum_of(play("right", ranks, false), 0);
    EXPECT_EQ(sum_of(play(GetParam(), ranks, false), ranks - 1), right);
    EXPECT_NE(sum_of(play(GetParam(), ranks, true), ranks - 1), right) << ranks << " ranks";
  }
}

INSTANTIATE_TEST_SUITE_P(All, CalledBefore,
                         testing::Values("by_input", "by_output", "by_size", "by_first_and_last",
                                         "by_numbers_of_one_input", "first_call_alone", "added_to_the_last"));

TEST(CalledBefore, IsRightWhereNothingIsKept) {
  EXPECT_EQ(sum_of(play("right", 2, true), 1), sum_of(play("right", 2, false), 1));
}

TEST(CalledBefore, EndsAsTheFirstCallThatDoesNotFinish) {
  const Outcome outcome = play("throws_at_first", 2, true);
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
