#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "judge/numbers/input_generator.hpp"
#include "reference/reference.hpp"
#include "tensor/linear_algebra.hpp"
#include "tensor/npy.hpp"

namespace course {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr int kSeeds = 200;

/// The scaled scores of one row in float64.
std::vector<double> scores_of(const QKV& x, Index head, Index query) {
  const Index head_dim = x.q.extent(2);
  std::vector<double> scores;
  for (Index key = 0; key < x.k.extent(1); ++key) {
    const float product = dot(x.q.heads().head(head).row(query), x.k.heads().head(head).row(key));
    scores.push_back(product / std::sqrt(static_cast<double>(head_dim)));
  }
  return scores;
}

/// Calls `check` with the scores of every row and the row's number within its head.
void for_each_row(const QKV& x, const std::function<void(const std::vector<double>&, Index)>& check) {
  for (Index head = 0; head < x.q.extent(0); ++head) {
    for (Index query = 0; query < x.q.extent(1); ++query) check(scores_of(x, head, query), query);
  }
}

double spread(std::span<const double> row) {
  const auto [low, high] = std::minmax_element(row.begin(), row.end());
  return *high - *low;
}

std::vector<double> row_of(const Tensor& x, Index row) {
  const auto values = x.matrix().row(row);
  return {values.begin(), values.end()};
}

/// Expects the last few entries to be more than 20 above the others.
void expect_late_maximum(const std::vector<double>& row) {
  const auto late = row.end() - std::clamp<Index>(static_cast<Index>(row.size()) / 4, 1, 3);
  if (late == row.begin()) return;
  EXPECT_GT(*std::min_element(late, row.end()), 20 + *std::max_element(row.begin(), late));
}

struct Size {
  Index heads, queries, keys, head_dim;
};
/// Sizes that are awkward: one key, one number a head, nothing that divides.
const std::vector<Size> kSizes = {{3, 7, 11, 5}, {2, 4, 2, 1}, {1, 1, 3, 2}, {2, 5, 40, 32}, {4, 2, 5, 64}};

/// Calls `check` with what `make` makes from many seeds in all sizes.
void for_many(const std::function<QKV(InputGenerator&, const Size&)>& make,
              const std::function<void(const QKV&)>& check) {
  for (int seed = 0; seed < kSeeds && !testing::Test::HasFailure(); ++seed) {
    for (const Size& size : kSizes) {
      InputGenerator generator(seed);
      const QKV x = make(generator, size);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", q " + to_string(x.q.shape()));
      EXPECT_EQ(x.q.shape(), (Shape{size.heads, size.queries, size.head_dim}));
      EXPECT_EQ(x.k.shape(), (Shape{size.heads, size.keys, size.head_dim}));
      EXPECT_EQ(x.v.shape(), x.k.shape());
      check(x);
    }
  }
}

QKV random_of(InputGenerator& generator, const Size& s) {
  return random_qkv(generator, s.heads, s.queries, s.keys, s.head_dim);
}
QKV late_of(InputGenerator& generator, const Size& s) {
  return late_maximum_qkv(generator, s.heads, s.queries, s.keys, s.head_dim);
}
QKV wide_of(InputGenerator& generator, const Size& s) {
  return wide_scores_qkv(generator, s.heads, s.queries, s.keys, s.head_dim);
}
std::function<QKV(InputGenerator&, const Size&)> very_negative_of(double level) {
  return [level](InputGenerator& generator, const Size& s) {
    return very_negative_qkv(generator, s.heads, s.queries, s.keys, s.head_dim, level);
  };
}

TEST(InputGenerator, SameSeedSameNumbers) {
  InputGenerator a(5);
  InputGenerator b(5);
  InputGenerator c(6);
  const Tensor numbers = a.normal({4, 5});
  EXPECT_EQ(numbers.values(), b.normal({4, 5}).values());
  EXPECT_NE(numbers.values(), c.normal({4, 5}).values());
  EXPECT_EQ(a.integer(0, 1000000), b.integer(0, 1000000));
}

// The C++ standard fixes every number of std::mt19937_64; this recomputes what is to be made of them, which
// the standard library's own distributions would make differently.
TEST(InputGenerator, NumbersFollowFromTheGeneratorAlone) {
  constexpr double kTwoPi = 6.283185307179586;
  std::mt19937_64 bits(9);
  const auto fraction = [&] { return std::ldexp(static_cast<double>(bits() >> 11), -53); };
  InputGenerator generator(9);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(generator.integer(-500, 499), static_cast<int>((bits() >> 32) * 1000 >> 32) - 500);
    EXPECT_EQ(generator.uniform(0, 1), fraction());
    const double radius = std::sqrt(-2 * std::log(1 - fraction()));
    EXPECT_NEAR(generator.normal(), radius * std::cos(kTwoPi * fraction()), 1e-13);
  }
}

TEST(InputGenerator, IntegersReachBothEndsEvenly) {
  InputGenerator generator(1);
  std::map<int, int> counts;
  for (int i = 0; i < 60000; ++i) ++counts[generator.integer(-2, 3)];
  EXPECT_EQ(counts.size(), 6u);
  EXPECT_EQ(counts.begin()->first, -2);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 10000, 600) << value;
  EXPECT_EQ(generator.integer(4, 4), 4);
}

TEST(InputGenerator, IntegersCoverTheWholeRangeOfInt) {
  InputGenerator generator(2);
  int negative = 0;
  for (int i = 0; i < 1000; ++i) {
    negative += generator.integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()) < 0;
  }
  EXPECT_NEAR(negative, 500, 100);
  EXPECT_THROW(generator.integer(3, 2), std::invalid_argument);
}

TEST(InputGenerator, NormalNumbersHaveTheRightMoments) {
  InputGenerator generator(3);
  constexpr int kCount = 200000;
  const Tensor x = generator.normal({kCount}, 3);
  double moments[5] = {};
  for (const float value : x.values()) {
    for (int power = 1; power < 5; ++power) moments[power] += std::pow(value / 3, power) / kCount;
  }
  EXPECT_NEAR(moments[1], 0, 0.02);
  EXPECT_NEAR(moments[2], 1, 0.02);
  EXPECT_NEAR(moments[3], 0, 0.05);
  EXPECT_NEAR(moments[4], 3, 0.1);
  for (const float value : x.values()) EXPECT_TRUE(std::isfinite(value));
}

TEST(InputGenerator, UniformNumbersFillTheirRange) {
  InputGenerator generator(4);
  const Tensor x = generator.uniform_tensor({50, 200}, -2, 6);
  const auto [low, high] = std::minmax_element(x.values().begin(), x.values().end());
  EXPECT_GE(*low, -2);
  EXPECT_LT(*low, -1.99);
  EXPECT_LE(*high, 6);
  EXPECT_GT(*high, 5.99);
  EXPECT_NEAR(std::accumulate(x.values().begin(), x.values().end(), 0.0) / 10000, 2, 0.1);
}

TEST(InputGenerator, ForksDifferFromEachOtherAndFromTheirOrigin) {
  const InputGenerator generator(7);
  std::set<float> first_numbers;
  std::vector<InputGenerator> all = {generator,
                                     generator.fork(""),
                                     generator.fork("a"),
                                     generator.fork("b"),
                                     generator.fork("ab"),
                                     generator.fork("ba"),
                                     generator.fork("a").fork("a"),
                                     InputGenerator(8).fork("a")};
  for (InputGenerator& each : all) first_numbers.insert(each.normal({1})[0]);
  EXPECT_EQ(first_numbers.size(), all.size());
}

TEST(InputGenerator, AForkDependsOnSeedAndLabelAlone) {
  InputGenerator generator(7);
  InputGenerator before = generator.fork("inputs");
  generator.normal({100});
  InputGenerator after = generator.fork("inputs");
  EXPECT_EQ(before.normal({10}).values(), after.normal({10}).values());
  InputGenerator untouched(7);
  untouched.fork("other");
  untouched.normal({100});
  EXPECT_EQ(generator.integer(0, 1 << 30), untouched.integer(0, 1 << 30));
}

TEST(AttentionInput, SameSeedSameTensors) {
  for (const auto& make : {random_of, late_of, wide_of}) {
    InputGenerator a(1);
    InputGenerator b(1);
    InputGenerator c(2);
    const QKV x = make(a, {2, 3, 4, 5});
    const QKV same = make(b, {2, 3, 4, 5});
    EXPECT_EQ(x.q.values(), same.q.values());
    EXPECT_EQ(x.k.values(), same.k.values());
    EXPECT_EQ(x.v.values(), same.v.values());
    EXPECT_NE(x.q.values(), make(c, {2, 3, 4, 5}).q.values());
  }
}

// An output computed from another head's q, k or v is far from the right one.
TEST(AttentionInput, HeadsDiffer) {
  for (const auto& make : std::vector<std::function<QKV(InputGenerator&, const Size&)>>{
           random_of, late_of, wide_of, very_negative_of(-150)}) {
    InputGenerator generator(3);
    const QKV x = make(generator, {2, 6, 9, 4});
    const auto swapped = [](const Tensor& t) {
      return concatenate<float>({slice(t, 0, 1, 1), slice(t, 0, 0, 1)}, 0);
    };
    const auto right = reference::attention(cast<double>(x.q), cast<double>(x.k), cast<double>(x.v)).o;
    for (const QKV& wrong :
         {QKV{swapped(x.q), x.k, x.v}, QKV{x.q, swapped(x.k), x.v}, QKV{x.q, x.k, swapped(x.v)}}) {
      const auto o =
          reference::attention(cast<double>(wrong.q), cast<double>(wrong.k), cast<double>(wrong.v)).o;
      double error = 0;
      double size = 0;
      for (Index i = 0; i < o.size(); ++i) {
        error += std::pow(o[i] - right[i], 2);
        size += std::pow(right[i], 2);
      }
      EXPECT_GT(std::sqrt(error / size), 0.05);
    }
  }
}

TEST(AttentionInput, MayBeEmpty) {
  for (const auto& make : std::vector<std::function<QKV(InputGenerator&, const Size&)>>{
           random_of, late_of, wide_of, very_negative_of(-150)}) {
    InputGenerator generator(3);
    EXPECT_EQ(make(generator, {2, 3, 0, 4}).k.shape(), (Shape{2, 0, 4}));
    EXPECT_EQ(make(generator, {2, 0, 3, 4}).q.shape(), (Shape{2, 0, 4}));
  }
}

TEST(RandomQkv, ScoresHaveTheGivenScaleAndGrowFromHeadToHead) {
  for (const double scale : {0.1, 1.0, 10.0}) {
    InputGenerator generator(5);
    const QKV x = random_qkv(generator, 4, 100, 120, 16, scale);
    double before = 0;
    for (Index head = 0; head < 4; ++head) {
      double sum_of_squares = 0;
      for (Index query = 0; query < 100; ++query) {
        for (const double score : scores_of(x, head, query)) sum_of_squares += score * score;
      }
      const double deviation = std::sqrt(sum_of_squares / 12000);
      EXPECT_GT(deviation, 0.45 * scale);
      EXPECT_LT(deviation, 1.6 * scale);
      EXPECT_GT(deviation, before) << "head " << head;
      before = deviation;
    }
  }
}

TEST(LateMaximumQkv, LastKeysAreFarAboveTheOthersInEveryRow) {
  for_many(late_of, [](const QKV& x) {
    for_each_row(x, [](const std::vector<double>& scores, Index) { expect_late_maximum(scores); });
  });
}

TEST(WideScoresQkv, EveryRowSpansMoreThanFloat32ExpCanHold) {
  for_many(wide_of, [](const QKV& x) {
    for_each_row(x, [](const std::vector<double>& scores, Index query) {
      EXPECT_GT(spread(scores), 110);
      EXPECT_GT(*std::max_element(scores.begin(), scores.end()), 89);
      EXPECT_EQ(scores.front() < scores.back(), query % 2 == 0) << "query " << query;
    });
  });
}

TEST(VeryNegativeQkv, ScoresLieNearTheirLevelButDiffer) {
  for (const double level : {-150.0, -2e4}) {
    for_many(very_negative_of(level), [&](const QKV& x) {
      for_each_row(x, [&](const std::vector<double>& scores, Index) {
        for (const double score : scores) EXPECT_NEAR(score, level, 0.02 * -level + 10);
        EXPECT_LT(spread(scores), 20);
      });
    });
  }
}

// The softmax of a row is neither uniform nor all on one key, and exp of its scores is 0 in float32.
TEST(VeryNegativeQkv, RowsAreOrdinaryOnceShifted) {
  InputGenerator generator(6);
  const QKV x = very_negative_qkv(generator, 2, 40, 50, 16, -150);
  double mean_spread = 0;
  for_each_row(x, [&](const std::vector<double>& scores, Index) {
    mean_spread += spread(scores) / 80;
    for (const double score : scores) EXPECT_EQ(std::exp(static_cast<float>(score)), 0.0f);
  });
  EXPECT_GT(mean_spread, 3);
  EXPECT_LT(mean_spread, 12);
}

TEST(MinilmQkv, IsTheExcerptAskedFor) {
  const Tensor q = read_npy<float>(std::filesystem::path(COURSE_DATA_DIR) / "minilm" / "q.npy");
  const Tensor v = read_npy<float>(std::filesystem::path(COURSE_DATA_DIR) / "minilm" / "v.npy");
  const QKV x = minilm_qkv(500, 12, {11, 3}, 2);
  EXPECT_EQ(x.q.shape(), (Shape{2, 12, 32}));
  EXPECT_EQ(x.q.heads()(0, 4, 5), 2 * q.heads()(11, 504, 5));
  EXPECT_EQ(x.q.heads()(1, 11, 31), 2 * q.heads()(3, 511, 31));
  EXPECT_EQ(x.v.heads()(1, 0, 7), v.heads()(3, 500, 7));
}

TEST(MinilmQkv, ScoresAreThoseThatTheDataDescribes) {
  const QKV x = minilm_qkv(0, 512, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  double lowest = 0;
  double highest = 0;
  for_each_row(x, [&](const std::vector<double>& scores, Index) {
    const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
    lowest = std::min(lowest, *low);
    highest = std::max(highest, *high);
  });
  EXPECT_NEAR(lowest, -68.7, 0.05);
  EXPECT_NEAR(highest, 77.4, 0.05);
}

TEST(MinilmQkv, RefusesWhatIsNotThere) {
  EXPECT_THROW(minilm_qkv(510, 3, {0}), std::out_of_range);
  EXPECT_THROW(minilm_qkv(-1, 3, {0}), std::out_of_range);
  EXPECT_THROW(minilm_qkv(0, 3, {12}), std::out_of_range);
  EXPECT_THROW(minilm_qkv(0, 3, {}), std::invalid_argument);
}

TEST(ScoreRows, SameSeedSameMatrix) {
  for (const auto& make : {score_rows, masked_rows, wide_rows, late_maximum_rows}) {
    InputGenerator a(1);
    InputGenerator b(1);
    InputGenerator c(2);
    const Tensor x = make(a, 5, 7);
    EXPECT_EQ(x.shape(), (Shape{5, 7}));
    EXPECT_EQ(x.values(), make(b, 5, 7).values());
    EXPECT_NE(x.values(), make(c, 5, 7).values());
    EXPECT_EQ(make(a, 0, 7).shape(), (Shape{0, 7}));
    EXPECT_EQ(make(a, 5, 0).shape(), (Shape{5, 0}));
  }
}

TEST(MaskedRows, FourRowsHoldEveryKindOfMask) {
  std::set<std::string> first_kinds;
  for (int seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    InputGenerator generator(seed);
    const Index cols = 2 + seed % 20;
    const Tensor x = masked_rows(generator, 4, cols);
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::vector<Index> masked(4);
    Index long_starts = 0;
    for (Index row = 0; row < 4; ++row) {
      const std::vector<double> values = row_of(x, row);
      masked[row] = std::count(values.begin(), values.end(), kMinusInfinity);
      const auto seen = std::find_if(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
      long_starts += masked[row] < cols && 2 * (seen - values.begin()) >= cols;
    }
    EXPECT_EQ(std::count(masked.begin(), masked.end(), cols), 1) << "rows that are all masked";
    EXPECT_EQ(std::count(masked.begin(), masked.end(), 0), 1) << "rows that are not masked";
    EXPECT_GE(long_starts, 1) << "rows of which the first half is masked";
    first_kinds.insert(masked[0] == cols ? "all" : masked[0] == 0 ? "none" : "some");
  }
  EXPECT_EQ(first_kinds.size(), 3u) << "the first row is always of the same kind";
}

TEST(MaskedRows, OneColumnIsMaskedOrNot) {
  InputGenerator generator(1);
  const Tensor x = masked_rows(generator, 400, 1);
  EXPECT_EQ(std::count(x.values().begin(), x.values().end(), kMinusInfinity), 100);
}

TEST(WideRows, FourRowsHoldEveryKind) {
  for (int seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    InputGenerator generator(seed);
    const Tensor x = wide_rows(generator, 4, 2 + seed % 20);
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::set<double> levels;
    Index wide = 0;
    for (Index row = 0; row < 4; ++row) {
      const std::vector<double> values = row_of(x, row);
      const auto near = [&](double level) {
        return std::all_of(values.begin(), values.end(), [&](double v) { return std::abs(v - level) < 10; });
      };
      for (const double level : {-150.0, -2e4, 2e4}) {
        if (near(level)) levels.insert(level);
      }
      wide += spread(values) > 110 && *std::max_element(values.begin(), values.end()) > 89;
    }
    EXPECT_EQ(levels.size(), 3u);
    EXPECT_EQ(wide, 1);
  }
}

TEST(LateMaximumRows, LastColumnsAreFarAboveTheOthers) {
  for (int seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    InputGenerator generator(seed);
    const Tensor x = late_maximum_rows(generator, 6, 2 + seed % 20);
    for (Index row = 0; row < 6; ++row) expect_late_maximum(row_of(x, row));
  }
}

TEST(FullScores, ExponentialsOverflowTogetherAndNoneByItself) {
  for (const std::vector<double>& scores : full_scores()) {
    double sum = 0;
    for (const double score : scores) sum += std::exp(score);
    EXPECT_LT(*std::ranges::max_element(scores), 88);
    EXPECT_GT(sum, std::numeric_limits<float>::max());
  }
}

TEST(OutweighedScores, OthersAddUpToMoreThanToleranceBelowOne) {
  for (const std::vector<double>& scores : outweighed_scores()) {
    const double largest = *std::ranges::max_element(scores);
    double others = -1;
    for (const double score : scores) others += std::exp(score - largest);
    EXPECT_GT(others, 1e-4);
    EXPECT_LT(others / static_cast<double>(scores.size()), std::exp(-9));
  }
}

}  // namespace
}  // namespace course
