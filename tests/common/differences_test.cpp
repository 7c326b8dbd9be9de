#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "judge/diagnosis/diagnose.hpp"
#include "judge/layer/layer.hpp"

namespace course::layers {
namespace {

/// sum(w x^3) of rows that differ a millionfold, whose gradient is 3 w x^2.
double loss(const Example&, const std::map<std::string, Tensor64>& inputs) {
  double sum = 0;
  for (Index i = 0; i < inputs.at("x").size(); ++i) sum += inputs.at("w")[i] * std::pow(inputs.at("x")[i], 3);
  return sum;
}

/// What is said of gradients that are so many times the right ones.
std::vector<Finding> said_of(double factor_of_x, double factor_of_w) {
  Example example{"",
                  {{"x", Tensor({2, 2}, {1e-3f, -2e-3f, 1e3f, 3e3f})}, {"w", Tensor({4}, {1, 2, -3, 5})}}};
  Played played;
  played.example = &example;
  for (const auto& [name, factor] : {std::pair{"dx", factor_of_x}, {"dw", factor_of_w}}) {
    Tensor64& expected = played.expected[name] = Tensor64(example.inputs.at(name + 1).shape());
    for (Index i = 0; i < expected.size(); ++i) {
      const double x = example.inputs.at("x")[i];
      expected[i] = name[1] == 'x' ? 3 * example.inputs.at("w")[i] * x * x : x * x * x;
    }
    played.answer[name] = expected;
    for (double& value : played.answer[name].values()) value *= factor;
    played.tolerance[name] = 1e-6;
  }
  const auto given = [](const char* name) {
    return [name](const Example&, const Answer& answer) { return answer.at(name); };
  };
  return agrees_with_differences({{"x", given("dx"), "dx"}, {"w", given("dw"), "dw"}}, loss)(played);
}

TEST(Differences, NothingIsSaidOfRightGradients) {
  EXPECT_TRUE(said_of(1, 1).empty());
}

TEST(Differences, TheInputIsNamedWhoseGradientIsWrong) {
  const std::vector<Finding> of_x = said_of(1.01, 1), of_w = said_of(1, -1);
  ASSERT_EQ(of_x.size(), 1U);
  EXPECT_NE(of_x.front().text.find("the gradient of x along"), std::string::npos) << of_x.front().text;
  ASSERT_EQ(of_w.size(), 1U);
  EXPECT_NE(of_w.front().text.find("the gradient of w along"), std::string::npos) << of_w.front().text;
}

TEST(Differences, AGradientThatIsNoNumberIsWrong) {
  EXPECT_EQ(said_of(std::numeric_limits<double>::quiet_NaN(), 1).size(), 1U);
}

}  // namespace
}  // namespace course::layers
