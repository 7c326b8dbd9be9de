#include "judge/numbers/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "judge/numbers/origin.hpp"

namespace course {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const Output matrix{"p", {"row", "col"}, 0};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Locate, JudgesAnEntryByItsOwnGroup) {
  // Row 1 is a million times smaller than row 0: its error is nothing beside the whole tensor's magnitude.
  const Tensor64 expected({2, 3}, {1e6, 1e6, 1e6, 1, 1, 1});
  Tensor64 answer = expected;
  answer[4] = 2;
  ASSERT_GT(relative_error(answer, expected), 1e-3);
  const std::string text = locate(matrix, answer, expected, 1e-3, {});
  EXPECT_TRUE(has(text, "p[row 1, col 1] is 2, should be 1")) << text;
  EXPECT_TRUE(has(text, "\n1 of 6 wrong, all in row 1 of 2")) << text;
}

TEST(Locate, TakesTheEntryThatIsFarthestOffInItsGroup) {
  const Tensor64 expected({2, 2}, {1e6, 1e6, 1, 1});
  Tensor64 answer = expected;
  answer[0] = 1.1e6;  // off by a tenth of its group
  answer[3] = 3;      // by twice
  EXPECT_TRUE(has(locate(matrix, answer, expected, 1e-3, {}), "p[row 1, col 1] is 3, should be 1"));
}

TEST(Locate, LeavesOutEntriesOfGroupsThatAreRight) {
  Tensor64 expected({2, 100});
  for (double& value : expected.values()) value = 1;
  Tensor64 answer = expected;
  answer[7] = 1.002;  // the row is right: 2e-3 on one entry of a hundred is 2e-4
  answer[150] = 5;
  const std::string text = locate(matrix, answer, expected, 1e-3, {});
  EXPECT_TRUE(has(text, "; 1 of 200 wrong, all in row 1 of 2")) << text;
}

TEST(Locate, NamesAnEntryWhateverIsWrong) {
  const Tensor64 expected({2, 2}, {1, 2, 0, 0});
  for (const double wrong : {1e-30, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    Tensor64 answer = expected;
    answer[3] = wrong;
    const std::string text = locate(matrix, answer, expected, 1e-3, {});
    EXPECT_TRUE(has(text, "p[row 1, col 1]") && has(text, "1 of 4 wrong")) << text;
  }
}

TEST(Locate, SaysNoErrorOfWholeNumbers) {
  const Tensor64 owners({2, 2}, {0, 1, 1, 0});
  EXPECT_EQ(locate(matrix, Tensor64({2, 2}, {0, -1, 1, 0}), owners, 1e-3, {}),
            "p[row 0, col 1] is -1, should be 1\n1 of 4 wrong, all in row 0 of 2");
  EXPECT_TRUE(
      has(locate(matrix, Tensor64({2, 2}, {0, 1.5, 1, 0}), owners, 1e-3, {}), "relative error 0.35; 1 of 4"));
}

TEST(Locate, HasThePluralOfItsAxes) {
  const Tensor64 answer({7}, {0, 0, 0, 1, 1, 1, 0}), expected({7});
  EXPECT_TRUE(has(locate({"last", {"query"}}, answer, expected, 1e-3, {}), "all in queries 3 to 5 of 7"));
  EXPECT_TRUE(has(locate({"last", {"row"}}, answer, expected, 1e-3, {}), "all in rows 3 to 5 of 7"));
}

TEST(SideBySide, ShowsTheNeighboursOfTheWorstEntryInTheContractsIndices) {
  const Tensor64 expected({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  Tensor64 answer = expected;
  answer[9] = std::numeric_limits<double>::quiet_NaN();
  answer[10] = never_written();
  const Layout layout{{2, 1}};
  EXPECT_EQ(side_by_side(matrix, answer, expected, 1e-3, layout),
            "                                         right  yours\n"
            "      rank 0: p[row 1, col 1]                6  6\n"
            "      rank 0: p[row 1, col 2]                7  7\n"
            "      rank 0: p[row 1, col 3]                8  8\n"
            "      rank 1: p[row 0, col 0]                9  9\n"
            "    * rank 1: p[row 0, col 1]               10  nan\n"
            "    * rank 1: p[row 0, col 2]               11  was never written\n"
            "      rank 1: p[row 0, col 3]               12  12\n");
}

TEST(RelativeError, TakesWhatOverflowedForAMistakesAnswerThatIsBeyondFloat32) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor64 mistaken({3}, {1e47, -1e31, 2});  // a factor of 1e-8 or so may make 1e31 of 1e39
  EXPECT_EQ(error_as_mistake(Tensor64({3}, {infinity, -infinity, 2}), mistaken, mistaken), 0);
  EXPECT_EQ(error_as_mistake(Tensor64({3}, {nan, nan, 2}), mistaken, mistaken), 0);
  EXPECT_DOUBLE_EQ(error_as_mistake(Tensor64({3}, {nan, infinity, 3}), mistaken, mistaken), 0.5);
  EXPECT_EQ(error_as_mistake(Tensor64({3}, {infinity, -1e31, nan}), mistaken, mistaken), infinity);
  EXPECT_EQ(relative_error(Tensor64({2}, {nan, 1}), Tensor64({2}, {-infinity, 1})), infinity);
  const Tensor64 large({2}, {-1e31, 1});
  EXPECT_EQ(relative_error(Tensor64({2}, {-infinity, 1}), large), infinity);
  EXPECT_EQ(relative_error(Tensor64({2}, {-infinity, 1}), large, large), infinity);
}

TEST(RelativeError, IsOverAScaleThatIsLarger) {
  const Tensor64 answer({2, 1}, {3, 4}), expected({2, 1}, {1, 2});
  EXPECT_DOUBLE_EQ(relative_error(answer, expected), 2);
  EXPECT_DOUBLE_EQ(relative_error(answer, expected, Tensor64({2, 1}, {0.5, 1})), 2);
  EXPECT_DOUBLE_EQ(relative_error(answer, expected, Tensor64({2, 1}, {-10, 4})), 0.5);
  EXPECT_DOUBLE_EQ(error_as_mistake(answer, expected, Tensor64({2, 1}, {-10, 4})), 0.5);
}

TEST(RelativeError, IsTheWorstGroups) {
  const Tensor64 column({3, 1}, {100, 1, 1});
  EXPECT_DOUBLE_EQ(relative_error(Tensor64({3, 1}, {100, 1.5, 1}), column), 0.5);
  // Without a second axis it is one group, in which 1.5 for 1 is little.
  EXPECT_LT(relative_error(Tensor64({3}, {100, 1.5, 1}), Tensor64({3}, {100, 1, 1})), 0.01);
  EXPECT_EQ(relative_error(Tensor64({0, 5}), Tensor64({0, 5})), 0);
  EXPECT_EQ(relative_error(Tensor64({3, 0}), Tensor64({3, 0})), 0);
}

TEST(Tolerance, NeedsABaselineNearTheTruth) {
  const Tensor64 expected({2}, {1, 2});
  EXPECT_GT(tolerance(expected, expected), 0);
  EXPECT_THROW(tolerance(Tensor64({2}, {1, infinity}), expected), std::invalid_argument);
  EXPECT_THROW(tolerance(Tensor64({2}, {1, std::numeric_limits<double>::quiet_NaN()}), expected),
               std::invalid_argument);
  EXPECT_THROW(tolerance(Tensor64({1, 2}, {1, 2}), expected), std::invalid_argument);
  EXPECT_THROW(tolerance(Tensor64({1}, std::vector<double>{1}), expected), std::invalid_argument);
  const Tensor64 masked({2}, {-infinity, 2});
  EXPECT_NO_THROW(tolerance(masked, masked));
}

TEST(Tolerance, IsNotLessThanWhatRoundingCosts) {
  // By head; a third has none, and is exact.
  const Tensor64 expected({3, 2}, {3, 4, 0.003, 0.004, 0, 0});
  const Tensor64 rounding({3, 2}, {3e-7, 4e-7, 3e-7, 4e-7, 0, 0});
  Tensor64 answer = expected;
  answer[2] += 5 * 3e-7;
  EXPECT_GT(relative_error(answer, expected), tolerance(expected, expected))
      << "a baseline that is right by luck";
  EXPECT_LT(relative_error(answer, expected), tolerance(expected, expected, rounding));
  EXPECT_LT(tolerance(expected, expected, rounding), 1e-3)
      << "far below the expected answer's own norm all the same";
  Tensor64 baseline = expected;
  baseline[2] *= 1.01;
  EXPECT_EQ(tolerance(baseline, expected, rounding), tolerance(baseline, expected))
      << "the baseline's error, if larger";
}

TEST(Tolerance, IsRefusedWhereTheExpectedAnswerCancelsToZero) {
  const Tensor64 expected({2, 2}, {3, 4, 0, 0}), rounding({2, 2}, {3e-7, 4e-7, 1e-9, 0});
  EXPECT_THROW(tolerance(expected, expected, rounding), std::invalid_argument);
}

}  // namespace

}  // namespace course
