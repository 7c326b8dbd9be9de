#include "judge/attention/grouped/grouped.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "judge/attention/forward.hpp"
#include "judge/attention/packed/packed.hpp"

namespace course {
namespace {

/// sum(o * d_o), of this example.
double loss(const Example& example) {
  const Answer answer = grouped::forward_task("", "").expected(example);
  double sum = 0;
  for (Index i = 0; i < answer.at("o").size(); ++i)
    sum += answer.at("o")[i] * static_cast<double>(example.inputs.at("d_o")[i]);
  return sum;
}

TEST(Grouped, GradientsOfSinksAreDifferencesOfTheLoss) {
  InputGenerator generator(5);
  const packed::RowMask mask{{0, 4, 9, 10}, 3};
  const Layout layout = Layout::documents(mask.starts, 12, 2);
  const Example example = grouped::with_gradient(
      generator, packed::make_example(generator, "", layout, {4, 2, 3, 5}, mask,
                                      {0.5f, 0.25f, 0.125f, 0.0625f}, {0.5f, -2, 3, 0}));
  const Task task = grouped::backward_task_with_sinks("", "");
  const Tensor64 d_sinks = task.expected(example).at("d_sinks");
  ASSERT_EQ(d_sinks.shape(), (Shape{2, 4}));
  for (Index head = 0; head < 4; ++head) {
    Example above = example, below = example;
    const float step = 1.0f / 256;
    above.inputs["sinks"][head] += step;
    below.inputs["sinks"][head] -= step;
    EXPECT_NEAR(d_sinks.matrix()(0, head), (loss(above) - loss(below)) / (2 * step), 1e-4) << head;
    EXPECT_EQ(d_sinks.matrix()(1, head), d_sinks.matrix()(0, head));
  }
}

TEST(Packed, HopsOfAWindowAreItsKeysBeforeTheShard) {
  InputGenerator generator(6);
  for (const int ranks : {2, 3, 5}) {
    for (const int shard : {1, 4, 8}) {
      for (Index window = 1; window <= ranks * shard + 1; ++window) {
        const Layout layout(std::vector<int>(ranks, shard));
        const Example example = packed::make_example(generator, "", layout, {1, 1, 2, 2},
                                                     {{0, Index{ranks} * shard}, window}, {}, {});
        const std::vector<int> hops = packed::hops_needed(example);
        for (int block = 0; block < ranks; ++block) {
          EXPECT_EQ(hops[block], std::min<Index>(ranks - 1 - block, (window - 1 + shard - 1) / shard))
              << ranks << " ranks of " << shard << ", window " << window;
        }
      }
    }
  }
}

/// 16, 4, 4, 4 and 4 tokens on 4 ranks: pairs of the slowest rank over the mean.
TEST(Packed, EveryDocumentInZigzagIsNearlyBalanced) {
  const packed::RowMask mask{{0, 16, 20, 24, 28, 32}};
  Example example;
  example.arguments = packed::arguments_of(mask);
  const auto slowest = [&](const Layout& layout) {
    example.layout = layout;
    double most = 0, all = 0;
    for (int rank = 0; rank < 4; ++rank) {
      double pairs = 0;
      for (int owner = 0; owner < 4; ++owner)
        pairs +=
            static_cast<double>(keys_seen(example).work(layout.positions(rank), layout.positions(owner)));
      most = std::max(most, pairs);
      all += pairs;
    }
    EXPECT_EQ(all, 176);
    return most / (all / 4);
  };
  EXPECT_NEAR(slowest(Layout(std::vector<int>(4, 8))), 2.273, 5e-4);
  EXPECT_NEAR(slowest(Layout::zigzag(std::vector<int>(8, 4))), 1.545, 5e-4);
  EXPECT_NEAR(slowest(Layout::striped(32, 4)), 1.273, 5e-4);
  EXPECT_NEAR(slowest(Layout::documents(mask.starts, 32, 4)), 1.136, 5e-4);
}

}  // namespace
}  // namespace course
