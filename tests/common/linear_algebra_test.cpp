#include "tensor/linear_algebra.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace course {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

class Numbers {
 public:
  std::vector<float> draw(Index count) {
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& x : numbers) x = normal_(generator_);
    return numbers;
  }
  float draw() { return normal_(generator_); }
  /// Lengths of which some are 0 and many odd, on both sides of where Eigen's kernels change.
  Index length() {
    constexpr std::array<Index, 10> lengths{0, 1, 2, 3, 7, 16, 17, 33, 64, 131};
    return lengths[std::uniform_int_distribution<std::size_t>(0, lengths.size() - 1)(generator_)];
  }

 private:
  std::mt19937 generator_{1};
  std::normal_distribution<float> normal_;
};

/// A matrix in rows 1 .. rows of a larger one, whose other rows nobody may touch.
class Inner {
 public:
  Inner(Numbers& numbers, Index rows, Index cols)
      : numbers_(numbers.draw((rows + 2) * cols)), rows_(rows), cols_(cols) {}

  MatrixView<float> view() { return MatrixView<float>(numbers_.data(), rows_ + 2, cols_).rows(1, rows_); }
  /// What lies around it.
  std::vector<float> frame() const {
    std::vector<float> frame(numbers_.begin(), numbers_.begin() + cols_);
    frame.insert(frame.end(), numbers_.end() - cols_, numbers_.end());
    return frame;
  }

 private:
  std::vector<float> numbers_;
  Index rows_;
  Index cols_;
};

float entry(Factor factor, Index row, Index col) {
  return factor.is_transposed() ? factor.matrix()(col, row) : factor.matrix()(row, col);
}

Factor read_as(MatrixView<float> matrix, bool is_transposed) {
  return is_transposed ? transposed(matrix) : Factor(matrix);
}

/// Checks one product of random numbers against a triple loop in float64.
void check_product(Numbers& numbers, Index m, Index k, Index n, bool a_transposed, bool b_transposed,
                   float alpha, float beta) {
  SCOPED_TRACE(testing::Message() << "[" << m << ", " << k << "] [" << k << ", " << n << "] transposed "
                                  << a_transposed << b_transposed << " alpha " << alpha << " beta " << beta);
  Inner a_inner(numbers, a_transposed ? k : m, a_transposed ? m : k);
  Inner b_inner(numbers, b_transposed ? n : k, b_transposed ? k : n);
  Inner c_inner(numbers, m, n);
  const Factor a = read_as(a_inner.view(), a_transposed);
  const Factor b = read_as(b_inner.view(), b_transposed);
  const MatrixView<float> c = c_inner.view();
  if (beta == 0.0f) std::fill_n(c.data(), c.size(), not_a_number);
  const std::vector<float> before(c.data(), c.data() + c.size());
  const std::vector<float> frame = c_inner.frame();

  gemm(alpha, a, b, beta, c);

  EXPECT_EQ(c_inner.frame(), frame);
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      double expected = beta == 0.0f ? 0.0 : static_cast<double>(beta) * before[i * n + j];
      double terms = std::abs(expected);
      for (Index l = 0; l < k; ++l) {
        const double term = static_cast<double>(alpha) * entry(a, i, l) * entry(b, l, j);
        expected += term;
        terms += std::abs(term);
      }
      EXPECT_NEAR(c(i, j), expected, 1e-6 * terms) << i << ", " << j;
    }
  }
}

TEST(Gemm, IsTheTripleLoopForEveryShapeAndTransposition) {
  Numbers numbers;
  for (int draw = 0; draw < 100; ++draw) {
    const Index m = numbers.length();
    const Index k = numbers.length();
    const Index n = numbers.length();
    for (const bool a_transposed : {false, true}) {
      for (const bool b_transposed : {false, true}) {
        for (const float beta : {0.0f, 1.0f, numbers.draw()})
          check_product(numbers, m, k, n, a_transposed, b_transposed, numbers.draw(), beta);
      }
    }
  }
}

TEST(Gemm, WithBetaOfOneAddsToC) {
  const std::vector<float> a{1, 2};
  const std::vector<float> b{10, 100};
  std::vector<float> c{5};
  gemm(2, MatrixView<const float>(a.data(), 1, 2), MatrixView<const float>(b.data(), 2, 1), 1,
       {c.data(), 1, 1});
  EXPECT_EQ(c[0], 425);
}

TEST(Gemm, KeepsNaNOfCUnlessBetaIsZero) {
  const std::vector<float> one{1};
  const MatrixView<const float> factor(one.data(), 1, 1);
  std::vector<float> c{not_a_number};
  gemm(1, factor, factor, 0.5f, {c.data(), 1, 1});
  EXPECT_TRUE(std::isnan(c[0]));
}

TEST(Transposed, OfATransposeIsTheMatrix) {
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  const Factor matrix(MatrixView<const float>(numbers.data(), 2, 3));
  EXPECT_EQ(transposed(matrix).rows(), 3);
  EXPECT_EQ(transposed(matrix).cols(), 2);
  EXPECT_FALSE(transposed(transposed(matrix)).is_transposed());
}

/// What a call says when it refuses its arguments.
template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    // "... (linear_algebra_test.cpp, line 151)": where the call stands.
    const std::string text = error.what();
    const std::size_t place = text.find(" (linear_algebra_test.cpp, line ");
    return place == std::string::npos ? text + " (nowhere)" : text.substr(0, place);
  }
  return "accepted";
}

TEST(Gemm, RefusesShapesThatDoNotFitAndNamesThem) {
  std::vector<float> numbers(60);
  const auto product = [&](Factor a, Factor b, MatrixView<float> c) {
    return refusal([&] { gemm(1, a, b, 0, c); });
  };
  const MatrixView<float> a(numbers.data(), 2, 3);
  const MatrixView<float> b(numbers.data() + 6, 3, 4);
  float* const c = numbers.data() + 40;
  EXPECT_EQ(product(a, b, {c, 2, 4}), "accepted");
  EXPECT_EQ(product(a, transposed(b), {c, 2, 4}), "gemm: a [2, 3] times b [4, 3] does not fit c [2, 4]");
  EXPECT_EQ(product(transposed(a), b, {c, 2, 4}), "gemm: a [3, 2] times b [3, 4] does not fit c [2, 4]");
  EXPECT_EQ(product(a, b, {c, 4, 2}), "gemm: a [2, 3] times b [3, 4] does not fit c [4, 2]");
  EXPECT_EQ(product(a, b, {c, 2, 0}), "gemm: a [2, 3] times b [3, 4] does not fit c [2, 0]");
}

TEST(Gemm, RefusesAResultOnTheMemoryOfAFactor) {
  std::vector<float> numbers(40);
  const MatrixView<float> a(numbers.data(), 2, 3);
  const MatrixView<float> b(numbers.data() + 6, 3, 3);
  EXPECT_EQ(refusal([&] { gemm(1, a, b, 0, a); }), "gemm: c [2, 3] lies on the memory of a factor [2, 3]");
  EXPECT_EQ(refusal([&] {
              gemm(1, a, b, 0, {numbers.data() + 14, 2, 3});
            }),
            "gemm: c [2, 3] lies on the memory of a factor [3, 3]");
  EXPECT_EQ(refusal([&] { gemm(1, a, b, 0, {numbers.data() + 15, 2, 3}); }), "accepted");
}

TEST(Maximum, IsTheLargestOfARowOfAnyLength) {
  Numbers numbers;
  for (Index length = 1; length <= 70; ++length) {
    std::vector<float> row = numbers.draw(length);
    for (float& x : row) x -= 10;  // all below 0
    for (std::size_t largest = 0; largest < row.size(); ++largest) {
      std::vector<float> raised = row;
      raised[largest] = -1;
      EXPECT_EQ(maximum(raised), -1) << largest << " of " << length;
    }
  }
}

TEST(Maximum, OfAnEmptyRowAndOfMinusInfinities) {
  EXPECT_EQ(maximum({}), -infinity);
  for (std::size_t length = 1; length <= 40; ++length) {
    std::vector<float> row(length, -infinity);
    EXPECT_EQ(maximum(row), -infinity) << length;
    row[length / 2] = -3e38f;
    EXPECT_EQ(maximum(row), -3e38f) << length;
    row[length / 3] = infinity;
    EXPECT_EQ(maximum(row), infinity) << length;
  }
}

TEST(Maximum, PassesOverNaN) {
  for (std::size_t length = 2; length <= 40; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      std::vector<float> row(length, 2);
      row[at] = not_a_number;
      EXPECT_EQ(maximum(row), 2) << at << " of " << length;
    }
  }
  EXPECT_EQ(maximum(std::vector<float>(20, not_a_number)), -infinity);
}

TEST(Dot, IsTheSumOfProducts) {
  Numbers numbers;
  for (Index length = 0; length <= 70; ++length) {
    const std::vector<float> x = numbers.draw(length);
    const std::vector<float> y = numbers.draw(length);
    double expected = 0;
    double terms = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      expected += static_cast<double>(x[i]) * y[i];
      terms += std::abs(static_cast<double>(x[i]) * y[i]);
    }
    EXPECT_NEAR(dot(x, y), expected, 1e-6 * terms) << length;
  }
}

TEST(Axpy, AddsAMultiple) {
  Numbers numbers;
  for (Index length = 0; length <= 70; ++length) {
    const std::vector<float> x = numbers.draw(length);
    const std::vector<float> before = numbers.draw(length);
    std::vector<float> y = before;
    axpy(0.3f, x, y);
    for (std::size_t i = 0; i < y.size(); ++i)
      EXPECT_NEAR(y[i], 0.3 * x[i] + before[i], 1e-6 * (std::abs(x[i]) + std::abs(before[i]))) << i;
  }
}

TEST(Scal, Multiplies) {
  Numbers numbers;
  for (Index length = 0; length <= 70; ++length) {
    const std::vector<float> before = numbers.draw(length);
    std::vector<float> x = before;
    scal(-0.3f, x);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_FLOAT_EQ(x[i], -0.3f * before[i]) << i;
  }
}

TEST(DotAndAxpy, RefuseDifferentLengths) {
  std::vector<float> three(3);
  std::vector<float> four(4);
  EXPECT_EQ(refusal([&] { dot(three, four); }), "dot: x has 3 numbers and y 4");
  EXPECT_EQ(refusal([&] { axpy(1, four, three); }), "axpy: x has 4 numbers and y 3");
}

}  // namespace
}  // namespace course
