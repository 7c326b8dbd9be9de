#include "judge/attention/gradient_checks.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <regex>
#include <set>

#include "judge/numbers/input_generator.hpp"

namespace course {

namespace {

using Kinds = std::set<std::string>;

constexpr double sharp = 1e-6;  // of the expected answer's norm: differences are good for as much

/// What of a line tells one check from another.
std::string kind_of(const std::string& line) {
  for (const char* words : {"the sum of dk", "the sum of dv", "<dq, q>", "<dv, v>", "differences: dq",
                            "differences: dk", "differences: dv"}) {
    if (line.find(words) != std::string::npos) return words;
  }
  return line;
}

enum class LseGradient { Zero, Drawn };

AttentionProblem problem(int seed, LseGradient lse_gradient, Index queries, Index keys,
                         Index offset = 1 << 20) {
  InputGenerator generator(seed);
  const QKV qkv = random_qkv(generator, 2, queries, keys, 4);
  Tensor d_lse({2, queries});
  if (lse_gradient == LseGradient::Drawn) d_lse = generator.normal({2, queries});
  return {cast<double>(qkv.q), cast<double>(qkv.k),
          cast<double>(qkv.v), cast<double>(generator.normal({2, queries, 4})),
          cast<double>(d_lse), reference::Mask::causal(offset)};
}

Kinds broken(const AttentionProblem& x, const Answer& given, double relative = sharp) {
  const GradientSlack slack =
      slack_of(right_gradients(x), {{"dq", relative}, {"dk", relative}, {"dv", relative}});
  Kinds kinds;
  for (const std::string& line : broken_identities(x, given, slack)) kinds.insert(kind_of(line));
  for (const std::string& line : broken_differences(x, given, slack)) kinds.insert(kind_of(line));
  return kinds;
}

void multiply(Tensor64& tensor, double factor) {
  for (double& value : tensor.values()) value *= factor;
}

TEST(GradientChecks, PrintTwoNumbersThatDiffer) {
  const AttentionProblem x = problem(1, LseGradient::Drawn, 5, 7);
  const GradientSlack slack = slack_of(right_gradients(x), {{"dq", sharp}, {"dk", sharp}, {"dv", sharp}});
  Answer given = right_gradients(x);
  multiply(given.at("dv"), 1 + 1e-4);
  const std::vector<std::string> lines = broken_differences(x, given, slack);
  ASSERT_EQ(lines.size(), 1u);
  std::smatch numbers;
  ASSERT_TRUE(std::regex_search(lines[0], numbers, std::regex("is (.+), should be (.+)"))) << lines[0];
  EXPECT_NE(numbers[1], numbers[2]) << lines[0];
}

TEST(GradientChecks, FindNothingInRightGradients) {
  for (int seed = 0; seed < 20; ++seed) {
    for (const LseGradient lse_gradient : {LseGradient::Zero, LseGradient::Drawn}) {
      for (const Index offset : {-3, 0, 2, 1 << 20}) {
        const AttentionProblem x = problem(seed, lse_gradient, 5, 7, offset);
        // Differences lose what float64 loses in a loss of size 1 over a step of 1e-3.
        EXPECT_EQ(broken(x, right_gradients(x), 1e-6), Kinds{}) << "seed " << seed << ", offset " << offset;
      }
    }
  }
}

TEST(GradientChecks, FindNothingWhereThereIsNothing) {
  for (const auto& [queries, keys] : {std::pair{0, 3}, {3, 0}, {1, 1}}) {
    const AttentionProblem x = problem(1, LseGradient::Zero, queries, keys);
    EXPECT_EQ(broken(x, right_gradients(x), 1e-6), Kinds{}) << queries << " queries, " << keys << " keys";
  }
}

TEST(GradientChecks, SeeAScaleThatIsWrongInOneGradient) {
  const AttentionProblem x = problem(1, LseGradient::Zero, 5, 7);
  Answer given = right_gradients(x);
  multiply(given["dq"], 2);
  EXPECT_EQ(broken(x, given), (Kinds{"<dq, q>", "differences: dq"}));
  given = right_gradients(x);
  multiply(given["dk"], 2);
  EXPECT_EQ(broken(x, given), (Kinds{"<dq, q>", "differences: dk"})) << "twice nothing is nothing";
  given = right_gradients(x);
  multiply(given["dv"], 2);
  EXPECT_EQ(broken(x, given), (Kinds{"the sum of dv", "<dv, v>", "differences: dv"}));
}

TEST(GradientChecks, SeeAScaleThatIsWrongInBothByDifferencesAlone) {
  const AttentionProblem x = problem(2, LseGradient::Zero, 5, 7);
  Answer given = right_gradients(x);
  multiply(given["dq"], 2);
  multiply(given["dk"], 2);
  EXPECT_EQ(broken(x, given), (Kinds{"differences: dq", "differences: dk"}));
}

/// dS = P * (dP - D + d_lse): with D added to d_lse, D is left out.
TEST(GradientChecks, SeeThatDIsLeftOut) {
  const AttentionProblem x = problem(3, LseGradient::Zero, 5, 7);
  AttentionProblem without = x;
  const Tensor64 o = reference::attention(x.q, x.k, x.v, x.mask).o;
  for (Index i = 0; i < o.size(); ++i) without.d_lse[i / 4] += o[i] * x.d_o[i];
  EXPECT_EQ(broken(x, right_gradients(without)),
            (Kinds{"the sum of dk", "differences: dq", "differences: dk"}));
}

TEST(GradientChecks, SeeZeros) {
  const AttentionProblem x = problem(4, LseGradient::Drawn, 5, 7);
  Answer given = right_gradients(x);
  for (auto& [name, gradient] : given) multiply(gradient, 0);
  EXPECT_EQ(broken(x, given), (Kinds{"the sum of dk", "the sum of dv", "<dv, v>", "differences: dq",
                                     "differences: dk", "differences: dv"}));
}

TEST(GradientChecks, SeeOneNan) {
  const AttentionProblem x = problem(5, LseGradient::Zero, 5, 7);
  Answer given = right_gradients(x);
  given["dk"][3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(broken(x, given), (Kinds{"the sum of dk", "<dq, q>", "differences: dk"}));
}

TEST(GradientChecks, AllowWhatTheSlackExplainsAndNoMore) {
  const AttentionProblem x = problem(6, LseGradient::Zero, 5, 7);
  Answer given = right_gradients(x);
  multiply(given["dv"], 1 + 1e-4);
  EXPECT_EQ(broken(x, given, 2e-4), Kinds{});
  EXPECT_EQ(broken(x, given, 1e-6), (Kinds{"the sum of dv", "<dv, v>", "differences: dv"}));
}

TEST(GradientChecks, SayWhichHead) {
  const AttentionProblem x = problem(7, LseGradient::Zero, 5, 7);
  Answer given = right_gradients(x);
  given["dv"].heads()(1, 2, 3) += 1;
  const std::vector<std::string> lines = broken_identities(
      x, given, slack_of(right_gradients(x), {{"dq", sharp}, {"dk", sharp}, {"dv", sharp}}));
  ASSERT_EQ(lines.size(), 2u);
  for (const std::string& line : lines) EXPECT_NE(line.find("in head 1: "), std::string::npos) << line;
}

TEST(SlackOf, IsAPartOfEachHeadsNorm) {
  const Tensor64 dq({2, 1, 2}, {3, 4, 0, 0});
  const GradientSlack slack =
      slack_of({{"dq", dq}, {"dk", dq}, {"dv", dq}},
               {{"dq", 0.1}, {"dk", 0.2}, {"dv", std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(slack.at("dq"), (std::vector<double>{0.5, 0}));
  EXPECT_EQ(slack.at("dk"), (std::vector<double>{1, 0}));
  EXPECT_EQ(slack.at("dv")[1], 0) << "nothing of nothing is allowed, not NaN";
}

}  // namespace

}  // namespace course
