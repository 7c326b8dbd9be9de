#include "tensor/exponential.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace course {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Exponential, IsWithinItsErrorOfTheExponential) {
  for (float x = -87.3f; x < 88.3f; x += 0.0007f) {
    const double exact = std::exp(static_cast<double>(x));
    EXPECT_NEAR(exponential(x), exact, (std::abs(x) + 2) * std::ldexp(exact, -23)) << x;
  }
}

TEST(Exponential, IsExactAtZero) {
  EXPECT_EQ(exponential(0.0f), 1.0f);
  EXPECT_EQ(exponential(-0.0f), 1.0f);
}

TEST(Exponential, EndsAtItsEnds) {
  for (const float x : {-87.4f, -1000.0f, std::numeric_limits<float>::lowest(), -infinity}) {
    EXPECT_GE(exponential(x), 0.0f) << x;
    EXPECT_LE(exponential(x), 1.2e-38f) << x;
  }
  for (const float x : {89.0f, std::numeric_limits<float>::max(), infinity})
    EXPECT_EQ(exponential(x), infinity) << x;
}

TEST(Exponential, OfNaNIsNaN) {
  EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Exponentiate, TakesEachNumberOfARowOfAnyLengthAndNoOtherAndSumsThem) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0, 10);
  for (std::size_t length = 0; length <= 67; ++length) {
    std::vector<float> row(length + 2);
    for (float& x : row) x = normal(generator);
    const std::vector<float> before = row;
    const float shift = normal(generator);
    const float sum = exponentiate(std::span(row).subspan(1, length), shift);
    EXPECT_EQ(row.front(), before.front());
    EXPECT_EQ(row.back(), before.back());
    for (std::size_t i = 1; i <= length; ++i)
      EXPECT_FLOAT_EQ(row[i], exponential(before[i] - shift)) << i << " of " << length;
    const double exact = std::accumulate(row.begin() + 1, row.end() - 1, 0.0);
    EXPECT_NEAR(sum, exact, 1e-6 * exact) << length;
  }
}

}  // namespace
}  // namespace course
