#include "judge/numbers/rounding.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "judge/attention/block/block_forward.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_backward_steps.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/softmax/online_softmax.hpp"
#include "judge/softmax/row_softmax.hpp"

namespace course {

namespace {

/// What is allowed beside a baseline that is right by luck, to the last digit.
double least_tolerance(const Task& task, const Example& example, const std::string& output) {
  const Tensor64 expected = task.expected(example).at(output);
  return tolerance(expected, expected, task.rounding(example).at(output));
}

/// The same of a rule that knows only the baseline.
double without_rounding(const Task& task, const Example& example, const std::string& output) {
  const Tensor64 expected = task.expected(example).at(output);
  return tolerance(expected, expected);
}

double error_of(const Task& task, const Example& example, const Answer& answer, const std::string& output) {
  return relative_error(answer.at(output), task.expected(example).at(output));
}

/// Attention in float32, a key at a time in the order given, o and lse of what was seen so far merged with
/// each by exp(lse - lse of both): of all right orders the one that rounds most.
Answer merged_key_by_key(const Example& example, bool backwards) {
  const Tensor& q = example.inputs.at("q");
  const Tensor& k = example.inputs.at("k");
  const Tensor& v = example.inputs.at("v");
  const float scale = 1 / std::sqrt(static_cast<float>(q.extent(2)));
  Tensor o(q.shape()), lse({q.extent(0), q.extent(1)}, -std::numeric_limits<float>::infinity());
  for (Index head = 0; head < q.extent(0); ++head) {
    for (Index i = 0; i < q.extent(1); ++i) {
      for (Index step = 0; step < k.extent(1); ++step) {
        const Index j = backwards ? k.extent(1) - 1 - step : step;
        float score = 0;
        for (Index c = 0; c < q.extent(2); ++c) score += q.heads()(head, i, c) * k.heads()(head, j, c);
        score *= scale;
        float& old = lse.matrix()(head, i);
        const float larger = std::max(old, score);
        const float both = larger + std::log(std::exp(old - larger) + std::exp(score - larger));
        for (Index c = 0; c < v.extent(2); ++c) {
          o.heads()(head, i, c) =
              std::exp(old - both) * o.heads()(head, i, c) + std::exp(score - both) * v.heads()(head, j, c);
        }
        old = both;
      }
    }
  }
  return {{"o", cast<double>(o)}, {"lse", cast<double>(lse)}};
}

TEST(RoundingOfASum, IsThatOfTermsAddedOneAfterAnother) {
  InputGenerator generator(1);
  for (const Index terms : {2, 5, 40, 700}) {
    for (const double mean : {0.0, 1.0, 20.0}) {
      double off = 0, predicted = 0;
      for (int draw = 0; draw < 400; ++draw) {
        float sum = 0;
        double exact = 0, squares = 0;
        for (Index i = 0; i < terms; ++i) {
          const float a = static_cast<float>(generator.normal()), b = static_cast<float>(mean);
          const double term = mean == 0 ? a : (a + 3.0) * b;
          sum += static_cast<float>(term);
          exact += term;
          squares += term * term;
        }
        off += (sum - exact) * (sum - exact);
        predicted += rounding::of_sum(terms, squares, exact);
      }
      EXPECT_LT(off, 1.5 * predicted) << terms << " terms of mean " << mean;
      EXPECT_GT(4 * off, predicted) << terms << " terms of mean " << mean;
    }
  }
}

TEST(Rounding, OfAttentionIsNotLessThanWhatMergesInLogSpaceCost) {
  const Task task = block_forward::task("1", "f");
  InputGenerator generator(33);
  int beyond_the_old_rule = 0;
  for (int draw = 0; draw < 150; ++draw) {
    const double level = std::array{-2e4, -1e3, -150.0, 0.0, 700.0}[draw % 5];
    const Index queries = generator.integer(1, 9), keys = generator.integer(1, 40);
    const Example example = block_forward::make_example(
        "", very_negative_qkv(generator, 1, queries, keys, generator.integer(1, 33), level), 1);
    for (const bool backwards : {false, true}) {
      const Answer answer = merged_key_by_key(example, backwards);
      for (const char* output : {"o", "lse"}) {
        const double error = error_of(task, example, answer, output);
        EXPECT_LT(error, least_tolerance(task, example, output))
            << output << " at " << level << ", " << keys << " keys";
        beyond_the_old_rule += error > without_rounding(task, example, output);
      }
    }
  }
  EXPECT_GT(beyond_the_old_rule, 20) << "a baseline that is right by luck would fail these";
}

TEST(Rounding, OfAttentionLeavesToleranceFarBelowTheAnswer) {
  const Task task = block_forward::task("1", "f");
  InputGenerator generator(2);
  for (int draw = 0; draw < 20; ++draw) {
    const Example near = block_forward::make_example("", random_qkv(generator, 2, 20, 30, 8), 7);
    EXPECT_LT(least_tolerance(task, near, "o"), 1e-5);
    EXPECT_LT(least_tolerance(task, near, "lse"), 1e-5);
    const Example far = block_forward::make_example("", very_negative_qkv(generator, 1, 9, 30, 16, -2e4), 10);
    EXPECT_LT(least_tolerance(task, far, "o"), 3e-2);
    EXPECT_LT(least_tolerance(task, far, "lse"), 1e-5);
  }
}

TEST(Rounding, OfGradientsIsNotLessThanWhatPlainLoopsCost) {
  const Task task = ring_backward::task("2", "f");
  InputGenerator generator(3);
  std::map<std::string, int> beyond_the_old_rule;
  for (int draw = 0; draw < 120; ++draw) {
    const double level = std::array{-2300.0, -500.0, -150.0, 0.0}[draw % 4];
    const int tokens = generator.integer(2, 30);
    QKV qkv = very_negative_qkv(generator, 1, tokens, tokens, generator.integer(1, 33), level);
    Tensor d_o = generator.normal(qkv.q.shape());
    const Example example =
        ring_backward::make_example("", std::vector<int>{tokens}, std::move(qkv), std::move(d_o));
    const Answer answer = ring_backward::gradients<float>({}, example);
    for (const char* output : {"dq", "dk", "dv"}) {
      const double error = error_of(task, example, answer, output);
      EXPECT_LT(error, least_tolerance(task, example, output)) << output << " at " << level;
      beyond_the_old_rule[output] += error > without_rounding(task, example, output);
    }
  }
  for (const char* output : {"dq", "dk", "dv"}) EXPECT_GT(beyond_the_old_rule[output], 5) << output;
}

/// Two scores whose logsumexp is next to nothing beside them.
TEST(Rounding, OfAnLseNearZeroIsThatOfItsTerms) {
  const Task task = row_softmax::logsumexp_task("2", "f");
  InputGenerator generator(4);
  int beyond_the_old_rule = 0;
  for (int draw = 0; draw < 100; ++draw) {
    const float first = static_cast<float>(generator.uniform(-2, -0.1));
    const float second = static_cast<float>(std::log(1 + 1e-4 - std::exp(static_cast<double>(first))));
    const Example example = row_softmax::make_example("", Tensor({1, 2}, {first, second}));
    const float m = std::max(first, second);
    const double lse = m + std::log(std::exp(first - m) + std::exp(second - m));
    const double error = error_of(task, example, {{"lse", Tensor64({1}, std::vector{lse})}}, "lse");
    EXPECT_LT(error, least_tolerance(task, example, "lse")) << first;
    beyond_the_old_rule += error > without_rounding(task, example, "lse");
  }
  EXPECT_GT(beyond_the_old_rule, 20);
}

/// Values that cancel beneath their weights.
TEST(Rounding, OfAMeanNearZeroIsThatOfItsTerms) {
  const Task task = online_softmax::task("2", "f");
  InputGenerator generator(5);
  int beyond_the_old_rule = 0;
  for (int draw = 0; draw < 100; ++draw) {
    Example example = online_softmax::make_example(generator, "", score_rows(generator, 1, 2), 1, 1);
    const auto scores = example.inputs.at("scores").values();
    Tensor& values = example.inputs.at("values");
    values[1] =
        static_cast<float>(-values[0] * std::exp(static_cast<double>(scores[0]) - scores[1]) * 1.0001);
    const float weights[] = {std::exp(scores[0]), std::exp(scores[1])};
    const double o = (weights[0] * values[0] + weights[1] * values[1]) / (weights[0] + weights[1]);
    const double error = error_of(task, example, {{"o", Tensor64({1, 1}, std::vector{o})}}, "o");
    EXPECT_LT(error, least_tolerance(task, example, "o")) << draw;
    beyond_the_old_rule += error > without_rounding(task, example, "o");
  }
  EXPECT_GT(beyond_the_old_rule, 20);
}

}  // namespace

}  // namespace course
