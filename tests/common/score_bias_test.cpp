#include "reference/score_bias.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "reference/reference.hpp"

namespace course::reference {
namespace {

Tensor64 normal(std::mt19937& random, const Shape& shape) {
  Tensor64 x(shape);
  std::normal_distribution<double> distribution(0, 1);
  for (double& value : x.values()) value = distribution(random);
  return x;
}

std::vector<Index> positions(Index count) {
  std::vector<Index> all(count);
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

void expect_near(const Tensor64& actual, const Tensor64& expected) {
  ASSERT_EQ(actual.shape(), expected.shape());
  for (Index i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-12) << i;
}

/// Six query heads share two of keys; documents, a window, and queries behind the last document.
struct Problem {
  explicit Problem(std::mt19937& random)
      : q(normal(random, {6, 11, 3})),
        k(normal(random, {2, 11, 3})),
        v(normal(random, {2, 11, 4})),
        d_o(normal(random, {6, 11, 4})) {}
  Tensor64 q, k, v, d_o;
  Mask mask = Mask::documents({0, 4, 9}) & Mask::causal() & Mask::window(3);

  Tensor64 bias(const HeadBias& of_heads) const {
    return score_bias<double>(mask, of_heads, 6, positions(11), 11);
  }
};

TEST(ScoreBias, OfNothingButAMaskIsThatMask) {
  std::mt19937 random(1);
  const Problem x(random);
  const auto masked = attention(x.q, x.k, x.v, x.mask), biased = attention(x.q, x.k, x.v, {}, x.bias({}));
  expect_near(biased.o, masked.o);
  EXPECT_EQ(biased.lse[10], masked.lse[10]);  // -inf
  const auto of_mask = attention_gradients(x.q, x.k, x.v, x.d_o, x.mask),
             of_bias = attention_gradients(x.q, x.k, x.v, x.d_o, {}, {}, x.bias({}));
  expect_near(of_bias.dq, of_mask.dq);
  expect_near(of_bias.dk, of_mask.dk);
}

TEST(ScoreBias, OfSlopesIsADistanceInTheScore) {
  std::mt19937 random(2);
  Problem x(random);
  x.mask = Mask::none();
  const HeadBias slopes{{0.5, 0.25, 1, 0, 2, 0.125}, {}};
  const Tensor64 bias = x.bias(slopes);
  EXPECT_EQ(bias.heads()(0, 7, 2), -2.5);
  EXPECT_EQ(bias.heads()(4, 2, 7), -10);
  // One key: its score alone is lse.
  const auto one = attention(x.q, slice(x.k, 1, 0, 1), slice(x.v, 1, 0, 1)),
             less = attention(x.q, slice(x.k, 1, 0, 1), slice(x.v, 1, 0, 1), {}, slice(bias, 2, 0, 1));
  for (Index i = 0; i < 11; ++i)
    EXPECT_NEAR(less.lse.matrix()(2, i), one.lse.matrix()(2, i) - static_cast<double>(i), 1e-12);
}

/// With the weight w = 1 / (1 + e^(sink - lse)) of all keys: o' = w o and lse' = log(e^lse + e^sink), so that
/// d o' / d lse = w (1 - w) o.
TEST(ScoreBias, OfASinkIsAKeyWithoutAValue) {
  std::mt19937 random(3);
  const Problem x(random);
  const HeadBias sinks{{}, {0.5, -20, 3, 1, -1, 0}};
  const Tensor64 k = with_sink(x.k, sinks), v = with_sink(x.v, sinks);
  const auto plain = attention(x.q, x.k, x.v, x.mask), joined = attention(x.q, k, v, {}, x.bias(sinks));
  Tensor64 o = plain.o, lse = plain.lse, d_o = x.d_o, d_lse(plain.lse.shape());
  for (Index row = 0; row < lse.size(); ++row) {
    const double sink = sinks.sinks[row / 11], w = 1 / (1 + std::exp(sink - plain.lse[row]));
    for (Index i = row * 4; i < row * 4 + 4; ++i) {
      d_lse[row] += w * (1 - w) * o[i] * x.d_o[i];
      o[i] *= w;
      d_o[i] *= w;
    }
    lse[row] = std::log(std::exp(plain.lse[row]) + std::exp(sink));
  }
  expect_near(joined.o, o);
  expect_near(joined.lse, lse);
  const auto expected = attention_gradients(x.q, x.k, x.v, d_o, x.mask, d_lse),
             gradients = attention_gradients(x.q, k, v, x.d_o, {}, {}, x.bias(sinks));
  expect_near(gradients.dq, expected.dq);
  expect_near(slice(gradients.dk, 1, 0, 11), expected.dk);
  expect_near(slice(gradients.dv, 1, 0, 11), expected.dv);
}

/// 3 heads: 2^-4 and 2^-8 of two heads, then 2^-2 of four.
TEST(ScoreBias, SlopesOfNoPowerOfTwoTakeEveryOtherOfTheNext) {
  EXPECT_EQ(alibi_slopes(1), (std::vector<double>{0x1p-8}));
  EXPECT_EQ(alibi_slopes(3), (std::vector<double>{0x1p-4, 0x1p-8, 0x1p-2}));
  EXPECT_EQ(alibi_slopes(6), (std::vector<double>{0x1p-2, 0x1p-4, 0x1p-6, 0x1p-8, 0x1p-1, 0x1p-3}));
}

TEST(ScoreBias, RefusesABiasOfAnotherShape) {
  std::mt19937 random(4);
  const Problem x(random);
  try {
    attention(x.q, x.k, x.v, {}, Tensor64({6, 11, 12}));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "bias has shape [6, 11, 12], expected the scores' [6, 11, 11]");
  }
}

}  // namespace
}  // namespace course::reference
