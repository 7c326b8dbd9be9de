#include "demo/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "judge/numbers/input_generator.hpp"
#include "reference/reference.hpp"
#include "ring/shards.hpp"

namespace course::demo {
namespace {

TEST(RowsToCompare, AreAllWhereThereIsTime) {
  EXPECT_EQ(rows_to_compare({2, 0, 1}, 3), (std::vector<Index>{0, 1, 2}));
}

TEST(RowsToCompare, AreSpreadOverEveryShardWhereThereIsNot) {
  EXPECT_EQ(rows_to_compare({10, 0, 10}, 4), (std::vector<Index>{0, 9, 10, 19}));
  EXPECT_EQ(rows_to_compare({5, 5, 5}, 1), (std::vector<Index>{0, 5, 10})) << "one of each shard at least";
}

TEST(RowsToCompare, AscendWithoutRepetition) {
  const std::vector<Index> rows = rows_to_compare({1000, 37, 1, 0, 512}, 200);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
  EXPECT_NEAR(static_cast<double>(rows.size()), 200, 5);
  EXPECT_EQ(rows.back(), 1549);
}

Input random_input(Index heads, Index seq, Index head_dim) {
  InputGenerator generator(3);
  QKV drawn = random_qkv(generator, heads, seq, seq, head_dim);
  return {std::move(drawn.q), std::move(drawn.k), std::move(drawn.v), {heads, seq, head_dim}, "random"};
}

Comparison compare_quietly(const Input& input, const Tensor& o, const Tensor& lse,
                           const std::vector<int>& shards) {
  return ForwardReference(input, shards, [](const std::string&) {}).compare(o, lse);
}

TEST(Compare, PassesFloat32AttentionItself) {
  const Input input = random_input(2, 40, 8);
  const reference::Attention<float> answer = reference::attention(input.q, input.k, input.v);
  const Comparison comparison = compare_quietly(input, answer.o, answer.lse, even_shards(40, 3));
  EXPECT_TRUE(comparison.passed());
  EXPECT_EQ(comparison.rows, 40);
  EXPECT_EQ(comparison.overall.o.relative, comparison.baseline.o.relative);
  EXPECT_GT(comparison.overall.o.largest, 0);
  EXPECT_LT(comparison.tolerance_o, 1e-5);
  EXPECT_LT(comparison.tolerance_lse, 1e-5);
}

TEST(Compare, FindsOneWrongValueAndItsRank) {
  const Input input = random_input(2, 40, 8);
  reference::Attention<float> answer = reference::attention(input.q, input.k, input.v);
  answer.o.heads()(1, 20, 3) += 0.01f;
  const Comparison comparison = compare_quietly(input, answer.o, answer.lse, {10, 0, 30});
  EXPECT_FALSE(comparison.passed());
  EXPECT_NEAR(comparison.by_rank[2].o.largest, 0.01, 1e-5);
  EXPECT_LT(comparison.by_rank[0].o.largest, 1e-5);
  EXPECT_EQ(comparison.by_rank[1].o.largest, 0);
  EXPECT_EQ(comparison.by_rank[1].o.relative, 0);
  EXPECT_LE(comparison.overall.lse.relative, comparison.tolerance_lse);
}

TEST(Compare, SaysOfEveryAnswerByItselfHowFarItIsOff) {
  const Input input = random_input(2, 40, 8);
  const ForwardReference expected(input, even_shards(40, 3), [](const std::string&) {});
  const reference::Attention<float> right = reference::attention(input.q, input.k, input.v);
  const Comparison before = expected.compare(right.o, right.lse);
  EXPECT_FALSE(expected.compare(Tensor({2, 40, 8}), right.lse).passed());
  const Comparison after = expected.compare(right.o, right.lse);
  EXPECT_TRUE(after.passed());
  EXPECT_EQ(after.by_rank.size(), 3u);
  EXPECT_EQ(after.overall.o.relative, before.overall.o.relative);
}

TEST(Compare, NeverPassesWhatWasNotWritten) {
  const Input input = random_input(1, 6, 4);
  reference::Attention<float> answer = reference::attention(input.q, input.k, input.v);
  answer.lse[5] = std::numeric_limits<float>::quiet_NaN();
  const Comparison comparison = compare_quietly(input, answer.o, answer.lse, {6});
  EXPECT_FALSE(comparison.passed());
  EXPECT_EQ(comparison.overall.lse.largest, std::numeric_limits<double>::infinity());
}

TEST(Compare, TakesASampleOfALongSequence) {
  const Input input = random_input(1, 9000, 2);
  const Tensor o({1, 9000, 2});
  const Comparison comparison = compare_quietly(input, o, Tensor({1, 9000}), even_shards(9000, 4));
  EXPECT_LT(comparison.rows, 9000);
  EXPECT_GT(comparison.rows, 4000);
  EXPECT_NEAR(comparison.overall.o.relative, 1, 1e-12) << "all zeros are wrong by the whole norm";
}

Input random_input_with_gradient(Index heads, Index seq, Index head_dim) {
  Input input = random_input(heads, seq, head_dim);
  input.d_o = InputGenerator(4).normal({heads, seq, head_dim});
  return input;
}

GradientComparison compare_gradients_quietly(const Input& input,
                                             const reference::AttentionGradients<float>& answer,
                                             const std::vector<int>& shards) {
  return BackwardReference(input, shards, [](const std::string&) {}).compare(answer.dq, answer.dk, answer.dv);
}

TEST(CompareGradients, PassesThoseOfFloat32Attention) {
  const Input input = random_input_with_gradient(2, 40, 8);
  const auto answer = reference::attention_gradients(input.q, input.k, input.v, *input.d_o);
  const GradientComparison comparison = compare_gradients_quietly(input, answer, even_shards(40, 3));
  EXPECT_TRUE(comparison.passed());
  EXPECT_EQ(comparison.heads_compared, 2);
  EXPECT_GT(comparison.overall.dk.largest, 0);
  EXPECT_LT(comparison.tolerance_dk, 1e-4);
}

TEST(CompareGradients, FindsGradientsOnTheWrongRank) {
  const Input input = random_input_with_gradient(2, 40, 8);
  auto answer = reference::attention_gradients(input.q, input.k, input.v, *input.d_o);
  answer.dv = concatenate<float>({slice(answer.dv, 1, 20, 20), slice(answer.dv, 1, 0, 20)}, 1);
  const GradientComparison comparison = compare_gradients_quietly(input, answer, {20, 0, 20});
  EXPECT_FALSE(comparison.passed());
  EXPECT_GT(comparison.by_rank[0].dv.relative, 0.1);
  EXPECT_EQ(comparison.by_rank[1].dv.relative, 0);
  EXPECT_LE(comparison.overall.dk.relative, comparison.tolerance_dk);
}

TEST(CompareGradients, NeverPassesZeros) {
  const Input input = random_input_with_gradient(1, 12, 4);
  const Tensor zeros({1, 12, 4});
  const GradientComparison comparison = compare_gradients_quietly(input, {zeros, zeros, zeros}, {12});
  EXPECT_FALSE(comparison.passed());
  EXPECT_NEAR(comparison.overall.dq.relative, 1, 1e-12);
}

TEST(CompareGradients, TakesSomeHeadsOfALongSequence) {
  const Input input = random_input_with_gradient(3, 6000, 2);
  const Tensor zeros({3, 6000, 2});
  const GradientComparison comparison =
      compare_gradients_quietly(input, {zeros, zeros, zeros}, even_shards(6000, 2));
  EXPECT_EQ(comparison.heads_compared, 1);
  EXPECT_EQ(comparison.heads, 3);
  EXPECT_FALSE(comparison.passed());
}

}  // namespace
}  // namespace course::demo
