#include "reference/layer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace course::reference {
namespace {

constexpr Index kHidden = 6, kHeads = 3, kHeadDim = 4, kFfn = 7, kVocabulary = 5, kTokens = 8;
const std::vector<Index> kLabels{0, 4, -100, 2, 2, -100, 1, 3};
const std::vector<Index> kPositions{3, 4, 5, 9, 1 << 20, (1 << 20) + 1, (1 << 20) + 2, (1 << 20) + 7};

Tensor64 normal(std::mt19937& random, const Shape& shape, double scale, double mean = 0) {
  Tensor64 x(shape);
  std::normal_distribution<double> distribution(mean, scale);
  for (double& value : x.values()) value = distribution(random);
  return x;
}

/// A layer, the loss above it, and what both are made of.
struct Network {
  Tensor64 x;
  LayerWeights<double> weights;
  Tensor64 w_vocabulary;

  double loss() const { return next_token_loss(layer(weights, x, kPositions).z, kLabels, w_vocabulary).loss; }
};

Network random_network() {
  std::mt19937 random(19);
  const Shape heads{kHeads, kHeadDim, kHidden}, ffn{kFfn, kHidden};
  Network net;
  net.x = normal(random, {kTokens, kHidden}, 1.5);
  net.weights = {normal(random, {kHidden}, 0.7, 1), normal(random, {kHidden}, 0.7, 1),
                 normal(random, heads, 0.5),        normal(random, heads, 0.5),
                 normal(random, heads, 0.5),        normal(random, heads, 0.5),
                 normal(random, ffn, 0.5),          normal(random, ffn, 0.5)};
  net.w_vocabulary = normal(random, {kVocabulary, kHidden}, 0.5);
  return net;
}

/// The gradient of the loss by moving every number of a tensor of `net`.
Tensor64 central_differences(Network& net, Tensor64& of) {
  const double step = 1e-5;
  Tensor64 gradient(of.shape());
  for (Index i = 0; i < of.size(); ++i) {
    const double middle = of[i];
    of[i] = middle + step;
    const double above = net.loss();
    of[i] = middle - step;
    gradient[i] = (above - net.loss()) / (2 * step);
    of[i] = middle;
  }
  return gradient;
}

void expect_near(const char* name, const Tensor64& given, const Tensor64& expected, double allowed = 1e-8) {
  ASSERT_EQ(given.shape(), expected.shape()) << name;
  double off = 0, size = 0;
  for (Index i = 0; i < given.size(); ++i) {
    off += std::pow(given[i] - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  EXPECT_LT(std::sqrt(off), allowed * std::sqrt(size)) << name;
  EXPECT_GT(size, 0) << name;
}

/// Calls look(name, given, other) for the weights of a layer and of another.
template <class Layer, class Look>
void each_weight(const LayerWeights<double>& given, Layer& other, Look look) {
  look("norm1", given.norm1, other.norm1);
  look("norm2", given.norm2, other.norm2);
  look("wq", given.wq, other.wq);
  look("wk", given.wk, other.wk);
  look("wv", given.wv, other.wv);
  look("wo", given.wo, other.wo);
  look("w_up", given.w_up, other.w_up);
  look("w_down", given.w_down, other.w_down);
}

std::vector<Index> all_rows() {
  std::vector<Index> rows(kTokens);
  std::iota(rows.begin(), rows.end(), Index{0});
  return rows;
}

TEST(Layer, GradientsAreThoseOfCentralDifferences) {
  Network net = random_network();
  const Tensor64 z = layer(net.weights, net.x, kPositions).z;
  const Loss<double> loss = next_token_loss(z, kLabels, net.w_vocabulary);
  const LayerGradients<double> gradients(net.weights, net.x, kPositions, loss.dz);
  expect_near("dx", gradients.dx(), central_differences(net, net.x));
  expect_near("w_vocabulary", outer_sum(loss.d_logits, z, all_rows()),
              central_differences(net, net.w_vocabulary));
  each_weight(gradients.all(), net.weights, [&](const char* name, const Tensor64& given, Tensor64& weight) {
    expect_near(name, given, central_differences(net, weight));
  });
}

TEST(Layer, SharesOfTokensAddUpToTheGradient) {
  const Network net = random_network();
  std::mt19937 random(3);
  const LayerGradients<double> gradients(net.weights, net.x, kPositions, normal(random, net.x.shape(), 1));
  LayerWeights<double> sum = gradients.share({});
  for (const std::vector<Index>& rows : {std::vector<Index>{0, 7}, {1}, {}, {2, 3, 4, 5, 6}}) {
    each_weight(gradients.share(rows), sum, [](const char*, const Tensor64& share, Tensor64& total) {
      for (Index i = 0; i < total.size(); ++i) total[i] += share[i];
    });
  }
  const LayerWeights<double> all = gradients.all();
  each_weight(sum, all, [](const char* name, const Tensor64& given, const Tensor64& expected) {
    expect_near(name, given, expected, 1e-14);
  });
}

TEST(Layer, OnlyDistancesBetweenPositionsCount) {
  const Network net = random_network();
  std::vector<Index> later = kPositions;
  for (Index& position : later) position += 1000;
  expect_near("z", layer(net.weights, net.x, later).z, layer(net.weights, net.x, kPositions).z, 1e-9);
}

TEST(Layer, RotationBackUndoesARotation) {
  std::mt19937 random(5);
  const Tensor64 x = normal(random, {2, kTokens, kHeadDim}, 1);
  expect_near("x", rotated(rotated(x, kPositions, 1), kPositions, -1), x, 1e-14);
}

TEST(Layer, RotationTurnsPairsHalfAHeadApart) {
  const Tensor64 x({1, 1, 4}, {1, 0, 0, 2});
  const std::vector<Index> position{3};
  const Tensor64 y = rotated(x, position, 1);
  const double slow = 3 * 0.01;
  expect_near("y", y,
              Tensor64({1, 1, 4}, {std::cos(3), -2 * std::sin(slow), std::sin(3), 2 * std::cos(slow)}));
}

TEST(Layer, LossWithoutLabelsIsZero) {
  const Network net = random_network();
  const std::vector<Index> none(kTokens, -100);
  const Loss<double> loss = next_token_loss(net.x, none, net.w_vocabulary);
  EXPECT_EQ(loss.loss, 0);
  for (const double value : loss.dz.values()) EXPECT_EQ(value, 0);
}

TEST(Layer, PositionsThatDoNotAscendAreRefused) {
  const Network net = random_network();
  std::vector<Index> positions = kPositions;
  std::swap(positions[0], positions[5]);
  EXPECT_THROW(layer(net.weights, net.x, positions), std::invalid_argument);
}

}  // namespace
}  // namespace course::reference
