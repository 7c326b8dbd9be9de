#include "demo/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "judge/numbers/input_generator.hpp"
#include "reference/reference.hpp"
#include "ring/layout.hpp"
#include "ring/shards.hpp"

namespace course::demo {
namespace {

TEST(RowsToCompare, AreAllWhereThereIsTime) {
  EXPECT_EQ(rows_to_compare(std::vector{2, 0, 1}, 3), (std::vector<Index>{0, 1, 2}));
}

TEST(RowsToCompare, AreSpreadOverEveryShardWhereThereIsNot) {
  EXPECT_EQ(rows_to_compare(std::vector{10, 0, 10}, 4), (std::vector<Index>{0, 9, 10, 19}));
  EXPECT_EQ(rows_to_compare(std::vector{5, 5, 5}, 1), (std::vector<Index>{0, 5, 10}))
      << "one of each shard at least";
}

TEST(RowsToCompare, AscendWithoutRepetition) {
  const std::vector<Index> rows = rows_to_compare(std::vector{1000, 37, 1, 0, 512}, 200);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
  EXPECT_NEAR(static_cast<double>(rows.size()), 200, 5);
  EXPECT_EQ(rows.back(), 1549);
}

TEST(RowsToCompare, AreOnesOfEveryRank) {
  const Layout zigzag = Layout::named("zigzag", 40, 4);
  EXPECT_EQ(rows_to_compare(zigzag, 8), (std::vector<Index>{0, 5, 10, 15, 24, 29, 34, 39}));
  EXPECT_EQ(rows_to_compare(Layout::named("striped", 12, 3), 3), (std::vector<Index>{0, 1, 2}));
}

Input random_input(Index heads, Index seq, Index head_dim) {
  InputGenerator generator(3);
  QKV drawn = random_qkv(generator, heads, seq, seq, head_dim);
  return {std::move(drawn.q), std::move(drawn.k), std::move(drawn.v), {heads, seq, head_dim}, "random"};
}

Comparison compare_quietly(const Input& input, const Tensor& o, const Tensor& lse, const Layout& shards) {
  return Reference(input, shards, {}, [](const std::string&) {}).compare({{"o", o}, {"lse", lse}});
}

const OutputComparison& output(const Comparison& comparison, const std::string& name) {
  return *std::ranges::find(comparison.outputs, name, &OutputComparison::name);
}

TEST(Compare, PassesFloat32AttentionItself) {
  const Input input = random_input(2, 40, 8);
  const reference::Attention<float> answer = reference::attention(input.q, input.k, input.v);
  const Comparison comparison = compare_quietly(input, answer.o, answer.lse, even_shards(40, 3));
  EXPECT_TRUE(comparison.passed());
  EXPECT_EQ(comparison.rows, 40);
  EXPECT_EQ(output(comparison, "o").overall.relative, output(comparison, "o").baseline);
  EXPECT_GT(output(comparison, "o").overall.largest, 0);
  EXPECT_LT(output(comparison, "o").tolerance, 1e-5);
  EXPECT_LT(output(comparison, "lse").tolerance, 1e-5);
}

TEST(Compare, FindsOneWrongValueAndItsRank) {
  const Input input = random_input(2, 40, 8);
  reference::Attention<float> answer = reference::attention(input.q, input.k, input.v);
  answer.o.heads()(1, 20, 3) += 0.01f;
  const Comparison comparison = compare_quietly(input, answer.o, answer.lse, Layout({10, 0, 30}));
  EXPECT_FALSE(comparison.passed());
  EXPECT_NEAR(output(comparison, "o").by_rank[2].largest, 0.01, 1e-5);
  EXPECT_LT(output(comparison, "o").by_rank[0].largest, 1e-5);
  EXPECT_EQ(output(comparison, "o").by_rank[1].largest, 0);
  EXPECT_EQ(output(comparison, "o").by_rank[1].relative, 0);
  EXPECT_LE(output(comparison, "lse").overall.relative, output(comparison, "lse").tolerance);
}

TEST(Compare, FindsTheRankInAnyLayout) {
  const Input input = random_input(2, 40, 8);
  reference::Attention<float> answer = reference::attention(input.q, input.k, input.v);
  answer.o.heads()(1, 21, 3) += 0.01f;
  const Comparison comparison = compare_quietly(input, answer.o, answer.lse, Layout::striped(40, 4));
  EXPECT_FALSE(comparison.passed());
  for (const int rank : {0, 2, 3}) EXPECT_LT(output(comparison, "o").by_rank[rank].largest, 1e-5) << rank;
  EXPECT_NEAR(output(comparison, "o").by_rank[1].largest, 0.01, 1e-5);
}

TEST(Compare, SaysOfEveryAnswerByItselfHowFarItIsOff) {
  const Input input = random_input(2, 40, 8);
  const Reference expected(input, even_shards(40, 3), {}, [](const std::string&) {});
  const reference::Attention<float> right = reference::attention(input.q, input.k, input.v);
  const Comparison before = expected.compare({{"o", right.o}, {"lse", right.lse}});
  EXPECT_FALSE(expected.compare({{"o", Tensor({2, 40, 8})}, {"lse", right.lse}}).passed());
  const Comparison after = expected.compare({{"o", right.o}, {"lse", right.lse}});
  EXPECT_TRUE(after.passed());
  EXPECT_EQ(after.outputs[0].by_rank.size(), 3u);
  EXPECT_EQ(after.outputs[0].overall.relative, before.outputs[0].overall.relative);
}

TEST(Compare, NeverPassesWhatWasNotWritten) {
  const Input input = random_input(1, 6, 4);
  reference::Attention<float> answer = reference::attention(input.q, input.k, input.v);
  answer.lse[5] = std::numeric_limits<float>::quiet_NaN();
  const Comparison comparison = compare_quietly(input, answer.o, answer.lse, Layout({6}));
  EXPECT_FALSE(comparison.passed());
  EXPECT_EQ(output(comparison, "lse").overall.largest, std::numeric_limits<double>::infinity());
}

TEST(Compare, TakesASampleOfALongSequence) {
  const Input input = random_input(1, 9000, 2);
  const Tensor o({1, 9000, 2});
  const Comparison comparison = compare_quietly(input, o, Tensor({1, 9000}), even_shards(9000, 4));
  EXPECT_LT(comparison.rows, 9000);
  EXPECT_GT(comparison.rows, 4000);
  EXPECT_NEAR(output(comparison, "o").overall.relative, 1, 1e-12) << "all zeros are wrong by the whole norm";
}

Input random_input_with_gradient(Index heads, Index seq, Index head_dim) {
  Input input = random_input(heads, seq, head_dim);
  input.d_o = InputGenerator(4).normal({heads, seq, head_dim});
  return input;
}

/// Beside the right o and lse.
Comparison compare_gradients_quietly(const Input& input, const reference::AttentionGradients<float>& answer,
                                     const Layout& shards) {
  const auto [o, lse] = reference::attention(input.q, input.k, input.v);
  return Reference(input, shards, {}, [](const std::string&) {})
      .compare({{"o", o}, {"lse", lse}, {"dq", answer.dq}, {"dk", answer.dk}, {"dv", answer.dv}});
}

TEST(CompareGradients, PassesThoseOfFloat32Attention) {
  const Input input = random_input_with_gradient(2, 40, 8);
  const auto answer = reference::attention_gradients(input.q, input.k, input.v, *input.d_o);
  const Comparison comparison = compare_gradients_quietly(input, answer, even_shards(40, 3));
  EXPECT_TRUE(comparison.passed());
  EXPECT_EQ(comparison.gradient_heads, 2);
  EXPECT_GT(output(comparison, "dk").overall.largest, 0);
  EXPECT_LT(output(comparison, "dk").tolerance, 1e-4);
}

TEST(CompareGradients, FindsGradientsOnTheWrongRank) {
  const Input input = random_input_with_gradient(2, 40, 8);
  auto answer = reference::attention_gradients(input.q, input.k, input.v, *input.d_o);
  answer.dv = concatenate<float>({slice(answer.dv, 1, 20, 20), slice(answer.dv, 1, 0, 20)}, 1);
  const Comparison comparison = compare_gradients_quietly(input, answer, Layout({20, 0, 20}));
  EXPECT_FALSE(comparison.passed());
  EXPECT_GT(output(comparison, "dv").by_rank[0].relative, 0.1);
  EXPECT_EQ(output(comparison, "dv").by_rank[1].relative, 0);
  EXPECT_LE(output(comparison, "dk").overall.relative, output(comparison, "dk").tolerance);
}

TEST(CompareGradients, FindsTheRankInAnyLayout) {
  const Input input = random_input_with_gradient(2, 40, 8);
  auto answer = reference::attention_gradients(input.q, input.k, input.v, *input.d_o);
  answer.dk.heads()(0, 37, 0) += 1;
  const Comparison comparison = compare_gradients_quietly(input, answer, Layout::named("zigzag", 40, 4));
  EXPECT_FALSE(comparison.passed());
  for (const int rank : {1, 2, 3}) EXPECT_LT(output(comparison, "dk").by_rank[rank].largest, 1e-4) << rank;
  EXPECT_NEAR(output(comparison, "dk").by_rank[0].largest, 1, 1e-4);
}

TEST(CompareGradients, NeverPassesZeros) {
  const Input input = random_input_with_gradient(1, 12, 4);
  const Tensor zeros({1, 12, 4});
  const Comparison comparison = compare_gradients_quietly(input, {zeros, zeros, zeros}, Layout({12}));
  EXPECT_FALSE(comparison.passed());
  EXPECT_NEAR(output(comparison, "dq").overall.relative, 1, 1e-12);
}

/// Queries and keys that are all alike, whose lse is near q k sqrt(head_dim): all rounded by the same.
Input input_of_alike_rows(float q, float k, Index seq, Index head_dim, bool with_alike_gradient) {
  Input input = random_input_with_gradient(1, seq, head_dim);
  input.q = Tensor(input.shape, q);
  input.k = Tensor(input.shape, k);
  if (with_alike_gradient) input.d_o = Tensor(input.shape, 1.0f);
  return input;
}

/// Right but for the lse that the weights are made from, which is rounded to float32 and then `steps` up.
reference::AttentionGradients<float> gradients_from_a_rounded_lse(const Input& input,
                                                                  const reference::Mask& mask, int steps) {
  const Tensor64 q = cast<double>(input.q), k = cast<double>(input.k), v = cast<double>(input.v),
                 d_o = cast<double>(*input.d_o);
  auto [o, lse] = reference::attention(q, k, v, mask);
  Tensor64 off = lse;
  for (double& one : off.values()) {
    float rounded = static_cast<float>(one);
    for (int step = 0; step < steps; ++step) rounded = std::nextafter(rounded, 1e9f);
    one = rounded - one;
  }
  // The weights of query i are exp(-off_i) times too large: so are its shares of dq, dk and dv.
  Tensor64 dq(q.shape()), dk(k.shape()), dv(v.shape());
  std::vector<Index> keys(static_cast<std::size_t>(k.extent(1)));
  std::iota(keys.begin(), keys.end(), Index{0});
  for (Index i = 0; i < q.extent(1); ++i) {
    const auto share = reference::attention_gradients(slice(q, 1, i, 1), k, v, slice(d_o, 1, i, 1),
                                                      mask.among(std::array{i}, keys));
    const double factor = std::exp(-off[i]);
    for (Index c = 0; c < q.extent(2); ++c) dq.heads()(0, i, c) = factor * share.dq.heads()(0, 0, c);
    for (Index entry = 0; entry < dk.size(); ++entry) {
      dk[entry] += factor * share.dk[entry];
      dv[entry] += factor * share.dv[entry];
    }
  }
  return {cast<float>(dq), cast<float>(dk), cast<float>(dv)};
}

Comparison compare_alike(const Input& input, const reference::AttentionGradients<float>& answer,
                         const Layout& layout, const reference::Mask& mask) {
  const auto [o, lse] =
      reference::attention(cast<double>(input.q), cast<double>(input.k), cast<double>(input.v), mask);
  return Reference(input, layout, {mask, {}}, [](const std::string&) {})
      .compare({{"o", cast<float>(o)},
                {"lse", cast<float>(lse)},
                {"dq", answer.dq},
                {"dk", answer.dk},
                {"dv", answer.dv}});
}

TEST(CompareGradients, PassesThoseFromAnLseThatIsRounded) {
  for (const auto& [q, k, seq, head_dim] : {std::tuple{-8.0f, 8.0f, 130, 32},
                                            {-20.0f, 20.0f, 130, 32},
                                            {20.0f, 20.0f, 130, 32},
                                            {-47.5f, 47.3f, 257, 1},
                                            {0.0f, 8.0f, 130, 32},
                                            {-8.1f, 8.0f, 300, 4}}) {
    for (const bool alike : {false, true}) {
      const Input input = input_of_alike_rows(q, k, seq, head_dim, alike);
      for (const std::string layout : layout_names) {
        for (const reference::Mask& mask : {reference::Mask(), reference::Mask::causal()}) {
          for (const int steps : {0, 1}) {
            const auto answer = gradients_from_a_rounded_lse(input, mask, steps);
            const Comparison compared = compare_alike(input, answer, Layout::named(layout, seq, 3), mask);
            for (const OutputComparison& one : compared.outputs)
              EXPECT_TRUE(one.right()) << one.name << " of " << q << " * " << k << " in " << layout << ": "
                                       << one.overall.relative << ", allowed " << one.tolerance;
          }
        }
      }
    }
  }
}

TEST(CompareGradients, FailsWrongOnesWhereLseIsLarge) {
  const Input input = input_of_alike_rows(-8, 8, 130, 32, false);
  const Layout layout = even_shards(130, 3);
  const auto right = gradients_from_a_rounded_lse(input, {}, 0);
  const auto fails = [&](const char* name, auto change) {
    auto answer = right;
    change(answer);
    EXPECT_FALSE(output(compare_alike(input, answer, layout, {}), name).right()) << name;
  };
  fails("dv", [](auto& answer) { std::ranges::fill(answer.dv.heads().head(0).row(7), 0.0f); });
  fails("dk", [](auto& answer) { std::ranges::fill(answer.dk.heads().head(0).row(7), 0.0f); });
  fails("dq", [&](auto& answer) { answer.dq = answer.dv; });
  fails("dv", [](auto& answer) {
    for (float& one : answer.dv.values()) one *= 1.001f;
  });
  fails("dk", [](auto& answer) {
    for (float& one : answer.dk.values()) one *= 1.001f;
  });
}

/// dq is 0 where all keys are alike, and float32 leaves something of any answer.
TEST(CompareGradients, MeasuresWhatCancelsByWhatIsRoundedOff) {
  const Input input = input_of_alike_rows(20, 20, 130, 32, true);
  auto answer = reference::attention_gradients(input.q, input.k, input.v, *input.d_o);
  const Comparison compared = compare_alike(input, answer, even_shards(130, 3), {});
  EXPECT_TRUE(output(compared, "dq").right()) << output(compared, "dq").overall.relative;
  EXPECT_LT(output(compared, "dq").tolerance, 1e-2) << "of another head, too";
}

TEST(CompareGradients, TakesSomeHeadsOfALongSequence) {
  const Input input = random_input_with_gradient(3, 6000, 2);
  const Tensor zeros({3, 6000, 2});
  const Comparison comparison = compare_gradients_quietly(input, {zeros, zeros, zeros}, even_shards(6000, 2));
  EXPECT_EQ(comparison.gradient_heads, 1);
  EXPECT_EQ(comparison.heads, 3);
  EXPECT_FALSE(comparison.passed());
}

}  // namespace
}  // namespace course::demo
