#include "reference/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "complaint.hpp"
#include "tensor/npy.hpp"

namespace course::reference {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
const Mask kFull{};
const Mask kCausal = Mask::causal();

Tensor64 golden(const std::string& name) {
  return read_npy<double>(std::filesystem::path(COURSE_DATA_DIR) / "golden" / (name + ".npy"));
}

double dot(const Tensor64& a, const Tensor64& b) {
  return std::inner_product(a.values().begin(), a.values().end(), b.values().begin(), 0.0);
}

double norm(const Tensor64& x) {
  return std::sqrt(dot(x, x));
}

/// |actual - expected| / |expected|, over all entries.
template <class T>
double relative_error(const TensorOf<T>& actual, const Tensor64& expected) {
  EXPECT_EQ(actual.shape(), expected.shape());
  Tensor64 difference = cast<double>(actual);
  for (Index i = 0; i < difference.size(); ++i) difference[i] -= expected[i];
  return norm(difference) / norm(expected);
}

Tensor64 normal(std::mt19937& random, const Shape& shape, double scale = 1) {
  Tensor64 x(shape);
  std::normal_distribution<double> distribution(0, scale);
  for (double& value : x.values()) value = distribution(random);
  return x;
}

struct Problem {
  Tensor64 q, k, v, d_o;
};

Problem random_problem(std::mt19937& random, Index heads, Index queries, Index keys, Index head_dim) {
  return {normal(random, {heads, queries, head_dim}, 2), normal(random, {heads, keys, head_dim}),
          normal(random, {heads, keys, head_dim}), normal(random, {heads, queries, head_dim})};
}

struct NamedMask {
  const char* name;
  Mask mask;
  /// Of query 0 to 4 and seven keys.
  bool sees_a_key(Index query) const {
    const auto [first, last] = mask.keys(query);
    return first < std::min<Index>(last, 7);
  }
};

/// Masks under which, for 5 queries and 7 keys, all rows, some rows and no rows see a key.
const std::vector<NamedMask> kMasks = {{"full", kFull},
                                       {"causal", kCausal},
                                       {"causal from 2 on", Mask::causal(2)},
                                       {"causal from -3 on", Mask::causal(-3)},
                                       {"nothing", Mask::causal(-9)},
                                       {"window", Mask::window(3, 2)},
                                       {"window beyond the keys", Mask::window(2, 4)},
                                       {"documents", Mask::documents({0, 2, 2, 4})},
                                       {"ranges", Mask::ranges({{3, 6}, {-1, 9}, {5, 2}, {0, 1}, {6, 7}})},
                                       {"causal documents", Mask::documents({0, 3, 7}) & kCausal}};

/// One head's o, lse and gradients by loops over queries, keys and columns.
struct Looped {
  std::vector<double> o, lse, dq, dk, dv;

  Looped(const Problem& x, const Tensor64& d_lse, const Mask& mask, Index head) {
    const Index queries = x.q.extent(1), keys = x.k.extent(1), dim = x.q.extent(2);
    const auto q = x.q.heads().head(head), k = x.k.heads().head(head), v = x.v.heads().head(head);
    const auto d_o = x.d_o.heads().head(head);
    dk.resize(keys * dim);
    dv.resize(keys * dim);
    for (Index i = 0; i < queries; ++i) {
      std::vector<double> p(keys), row(dim), dq_row(dim);
      double l = 0;
      for (Index j = 0; j < keys; ++j) {
        if (j < mask.keys(i).first || j >= mask.keys(i).last) continue;
        double score = 0;
        for (Index c = 0; c < dim; ++c) score += q(i, c) * k(j, c);
        l += p[j] = std::exp(score / std::sqrt(dim));
      }
      double delta = 0;
      for (Index j = 0; j < keys && l > 0; ++j) {
        p[j] /= l;
        for (Index c = 0; c < dim; ++c) {
          row[c] += p[j] * v(j, c);
          delta += p[j] * v(j, c) * d_o(i, c);
        }
      }
      for (Index j = 0; j < keys; ++j) {
        double ds = d_lse.matrix()(head, i) - delta;
        for (Index c = 0; c < dim; ++c) ds += d_o(i, c) * v(j, c);
        ds *= p[j] / std::sqrt(dim);
        for (Index c = 0; c < dim; ++c) {
          dq_row[c] += ds * k(j, c);
          dk[j * dim + c] += ds * q(i, c);
          dv[j * dim + c] += p[j] * d_o(i, c);
        }
      }
      o.insert(o.end(), row.begin(), row.end());
      dq.insert(dq.end(), dq_row.begin(), dq_row.end());
      lse.push_back(std::log(l));
    }
  }
};

/// Whether a head of a tensor is, entry by entry, what loops give.
template <class T>
void expect_equal(const TensorOf<T>& tensor, const std::vector<double>& expected, Index head,
                  double tolerance, const std::string& what) {
  const std::vector<T> actual = slice(tensor, 0, head, 1).values();
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isfinite(expected[i])) {
      EXPECT_NEAR(actual[i], expected[i], tolerance) << what;
    } else {
      EXPECT_EQ(actual[i], expected[i]) << what;
    }
  }
}

template <class T>
void expect_as_by_loops(const Problem& x, const Tensor64& d_lse, const NamedMask& named, double tolerance) {
  const TensorOf<T> q = cast<T>(x.q), k = cast<T>(x.k), v = cast<T>(x.v);
  const auto [o, lse] = attention(q, k, v, named.mask);
  const auto [dq, dk, dv] = attention_gradients(q, k, v, cast<T>(x.d_o), named.mask, cast<T>(d_lse));
  for (Index head = 0; head < q.extent(0); ++head) {
    const Looped looped(x, d_lse, named.mask, head);
    expect_equal(o, looped.o, head, tolerance, named.name + std::string(", o"));
    expect_equal(lse, looped.lse, head, tolerance, named.name + std::string(", lse"));
    expect_equal(dq, looped.dq, head, tolerance, named.name + std::string(", dq"));
    expect_equal(dk, looped.dk, head, tolerance, named.name + std::string(", dk"));
    expect_equal(dv, looped.dv, head, tolerance, named.name + std::string(", dv"));
  }
}

TEST(Attention, AndItsGradientsAreWhatLoopsGiveUnderEveryMask) {
  std::mt19937 random(12);
  for (const NamedMask& named : kMasks) {
    const Problem x = random_problem(random, 2, 5, 7, 4);
    const Tensor64 d_lse = normal(random, {2, 5});
    expect_as_by_loops<double>(x, d_lse, named, 1e-12);
    expect_as_by_loops<float>(x, d_lse, named, 1e-4);
  }
}

TEST(Softmax, MatchesAWorkedExample) {
  const auto [p, lse] = softmax(Tensor64({1, 3}, {0.0, std::log(2.0), std::log(5.0)}));
  EXPECT_NEAR(p[0], 1.0 / 8, 1e-15);
  EXPECT_NEAR(p[1], 2.0 / 8, 1e-15);
  EXPECT_NEAR(p[2], 5.0 / 8, 1e-15);
  EXPECT_NEAR(lse[0], std::log(8.0), 1e-15);
}

TEST(Softmax, RowsSumToOneAndGiveBackTheScores) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 50; ++trial) {
    const Tensor64 x = normal(random, {1 + trial % 6, 1 + trial % 9}, 0.1 + trial);
    const auto [p, lse] = softmax(x);
    for (Index i = 0; i < x.extent(0); ++i) {
      const auto row = p.matrix().row(i);
      EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1.0, 1e-14);
      for (Index j = 0; j < x.extent(1); ++j) {
        EXPECT_NEAR(row[j], std::exp(x.matrix()(i, j) - lse[i]), 1e-13);
      }
    }
  }
}

TEST(Softmax, IsInvariantUnderShiftsOfARow) {
  std::mt19937 random(2);
  const Tensor64 x = normal(random, {5, 8});
  const auto before = softmax(x);
  const std::vector<double> shifts{0, 710, -150, -2e4, 1e6};  // exp of 710 overflows even in float64
  Tensor64 shifted = x;
  for (Index i = 0; i < 5; ++i) {
    for (double& value : shifted.matrix().row(i)) value += shifts[i];
  }
  const auto after = softmax(shifted);
  EXPECT_LT(relative_error(after.p, before.p), 1e-9);
  for (Index i = 0; i < 5; ++i) EXPECT_NEAR(after.lse[i], before.lse[i] + shifts[i], 1e-9);
}

TEST(Softmax, MaskedEntriesAreExactlyZero) {
  const auto [p, lse] =
      softmax(Tensor64({2, 3}, {kMinusInfinity, 1.0, 1.0, kMinusInfinity, kMinusInfinity, kMinusInfinity}));
  EXPECT_EQ(p.values(), (std::vector<double>{0, 0.5, 0.5, 0, 0, 0}));
  EXPECT_NEAR(lse[0], 1 + std::log(2.0), 1e-15);
  EXPECT_EQ(lse[1], kMinusInfinity);
}

TEST(Softmax, HandlesMatricesWithoutRowsOrColumns) {
  const auto no_columns = softmax(Tensor64({2, 0}));
  EXPECT_EQ(no_columns.p.shape(), (Shape{2, 0}));
  EXPECT_EQ(no_columns.lse.values(), (std::vector<double>{kMinusInfinity, kMinusInfinity}));
  EXPECT_EQ(softmax(Tensor64({0, 3})).lse.shape(), Shape{0});
  EXPECT_THROW(softmax(Tensor64({3})), std::invalid_argument);
}

// A NaN must not be mistaken for a masked row, wherever it stands.
TEST(Softmax, LetsNanThrough) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto [p, lse] = softmax(Tensor64({2, 2}, {nan, kMinusInfinity, kMinusInfinity, nan}));
  for (const double value : lse.values()) EXPECT_TRUE(std::isnan(value));
}

struct GoldenCase {
  const char* prefix;
  Mask mask;
};

class Golden : public testing::TestWithParam<GoldenCase> {
 protected:
  static Tensor64 expected(const std::string& name) { return golden(std::string(GetParam().prefix) + name); }
};

TEST_P(Golden, ForwardMatchesPyTorch) {
  const auto [o, lse] = attention(golden("q"), golden("k"), golden("v"), GetParam().mask);
  EXPECT_LT(relative_error(o, expected("o")), 1e-12);
  EXPECT_LT(relative_error(lse, expected("lse")), 1e-12);
}

TEST_P(Golden, GradientsMatchPyTorch) {
  const auto [dq, dk, dv] =
      attention_gradients(golden("q"), golden("k"), golden("v"), golden("do"), GetParam().mask);
  EXPECT_LT(relative_error(dq, expected("dq")), 1e-12);
  EXPECT_LT(relative_error(dk, expected("dk")), 1e-12);
  EXPECT_LT(relative_error(dv, expected("dv")), 1e-12);
}

TEST_P(Golden, Float32IsCloseButNotEqual) {
  const Tensor q = cast<float>(golden("q"));
  const Tensor k = cast<float>(golden("k"));
  const Tensor v = cast<float>(golden("v"));
  const auto [o, lse] = attention(q, k, v, GetParam().mask);
  const auto [dq, dk, dv] = attention_gradients(q, k, v, cast<float>(golden("do")), GetParam().mask);
  for (const auto& [actual, name] :
       {std::pair(&o, "o"), {&lse, "lse"}, {&dq, "dq"}, {&dk, "dk"}, {&dv, "dv"}}) {
    const double error = relative_error(*actual, expected(name));
    EXPECT_LT(error, 1e-4) << name;
    EXPECT_GT(error, 1e-9) << name << " was not computed in float32";
  }
}

INSTANTIATE_TEST_SUITE_P(Masks, Golden,
                         testing::Values(GoldenCase{"full_", kFull}, GoldenCase{"causal_", kCausal}),
                         [](const auto& test) { return test.param.prefix + std::string("mask"); });

TEST(Attention, OfOneKeyIsItsValue) {
  std::mt19937 random(3);
  const Problem x = random_problem(random, 2, 3, 1, 4);
  const auto [o, lse] = attention(x.q, x.k, x.v);
  for (Index head = 0; head < 2; ++head) {
    for (Index i = 0; i < 3; ++i) {
      double score = 0;
      for (Index c = 0; c < 4; ++c) {
        EXPECT_NEAR(o.heads()(head, i, c), x.v.heads()(head, 0, c), 1e-15);
        score += x.q.heads()(head, i, c) * x.k.heads()(head, 0, c);
      }
      EXPECT_NEAR(lse.matrix()(head, i), score / 2, 1e-14);  // 1 / sqrt(4)
    }
  }
}

TEST(Attention, WithoutKeysIsZero) {
  const auto [o, lse] = attention(Tensor64({2, 3, 4}, 1.0), Tensor64({2, 0, 4}), Tensor64({2, 0, 4}));
  EXPECT_EQ(o.values(), std::vector<double>(24, 0.0));
  EXPECT_EQ(lse.values(), std::vector<double>(6, kMinusInfinity));
  const auto [dq, dk, dv] = attention_gradients(Tensor64({2, 3, 4}, 1.0), Tensor64({2, 0, 4}),
                                                Tensor64({2, 0, 4}), Tensor64({2, 3, 4}, 1.0));
  EXPECT_EQ(dq.values(), std::vector<double>(24, 0.0));
  EXPECT_EQ(dk.shape(), (Shape{2, 0, 4}));
  EXPECT_EQ(dv.shape(), (Shape{2, 0, 4}));
}

TEST(Attention, WithoutQueriesHasZeroGradients) {
  EXPECT_EQ(attention(Tensor64({2, 0, 4}), Tensor64({2, 3, 4}), Tensor64({2, 3, 4})).lse.shape(),
            (Shape{2, 0}));
  const auto [dq, dk, dv] = attention_gradients(Tensor64({2, 0, 4}), Tensor64({2, 3, 4}, 1.0),
                                                Tensor64({2, 3, 4}, 1.0), Tensor64({2, 0, 4}));
  EXPECT_EQ(dk.values(), std::vector<double>(24, 0.0));
  EXPECT_EQ(dv.values(), std::vector<double>(24, 0.0));
}

// With offset -2 queries 0 and 1 see nothing; the others must be as if those had not been there.
TEST(Attention, AMaskedRowIsZeroAndHarmsNoOther) {
  std::mt19937 random(4);
  const Problem x = random_problem(random, 2, 6, 6, 3);
  const auto [o, lse] = attention(x.q, x.k, x.v, Mask::causal(-2));
  const auto gradients = attention_gradients(x.q, x.k, x.v, x.d_o, Mask::causal(-2));
  EXPECT_EQ(norm(slice(o, 1, 0, 2)), 0);
  EXPECT_EQ(slice(lse, 1, 0, 2).values(), std::vector<double>(4, kMinusInfinity));
  EXPECT_EQ(norm(slice(gradients.dq, 1, 0, 2)), 0);

  const Tensor64 q = slice(x.q, 1, 2, 4);
  const auto rest = attention(q, x.k, x.v, kCausal);
  const auto rest_gradients = attention_gradients(q, x.k, x.v, slice(x.d_o, 1, 2, 4), kCausal);
  EXPECT_LT(relative_error(slice(o, 1, 2, 4), rest.o), 1e-14);
  EXPECT_LT(relative_error(slice(lse, 1, 2, 4), rest.lse), 1e-14);
  EXPECT_LT(relative_error(gradients.dk, rest_gradients.dk), 1e-13);
  EXPECT_LT(relative_error(gradients.dv, rest_gradients.dv), 1e-13);
}

// The last query with offset keys - queries sees every key, so it must be that of full attention.
TEST(Attention, OffsetAlignsTheLastQueryWithTheLastKey) {
  std::mt19937 random(5);
  const Problem x = random_problem(random, 2, 4, 9, 3);
  const auto causal = attention(x.q, x.k, x.v, Mask::causal(5));
  const auto full = attention(x.q, x.k, x.v);
  EXPECT_LT(relative_error(slice(causal.o, 1, 3, 1), slice(full.o, 1, 3, 1)), 1e-14);
  EXPECT_GT(relative_error(slice(causal.o, 1, 2, 1), slice(full.o, 1, 2, 1)), 1e-6);
}

// A fifth coordinate shifts all scores of a row far below what exp can hold; only lse may change.
TEST(Attention, ScoresFarBelowZeroChangeNothingButLse) {
  std::mt19937 random(6);
  const Problem x = random_problem(random, 2, 5, 7, 4);
  const auto with_shift = [](const Tensor64& t, double value) {
    return concatenate<double>({t, Tensor64({t.extent(0), t.extent(1), 12}, value / std::sqrt(12.0))}, 2);
  };
  // Scores are divided by sqrt(16) instead of sqrt(4): q is doubled. Each score falls by 400 * 400 / 4.
  Tensor64 q = x.q;
  for (double& value : q.values()) value *= 2;
  const auto low = attention(with_shift(q, 400), with_shift(x.k, -400), x.v);
  const auto expected = attention(x.q, x.k, x.v);
  EXPECT_LT(relative_error(low.o, expected.o), 1e-9);
  for (Index i = 0; i < low.lse.size(); ++i) {
    EXPECT_LT(low.lse[i], -1e4);
    EXPECT_NEAR(low.lse[i], expected.lse[i] - 4e4, 1e-9);
  }
}

TEST(Attention, HeadsDoNotSeeEachOther) {
  std::mt19937 random(7);
  const Problem x = random_problem(random, 3, 5, 7, 4);
  const auto together = attention(x.q, x.k, x.v);
  for (Index head = 0; head < 3; ++head) {
    const auto alone = attention(slice(x.q, 0, head, 1), slice(x.k, 0, head, 1), slice(x.v, 0, head, 1));
    EXPECT_EQ(slice(together.o, 0, head, 1).values(), alone.o.values());
  }
}

TEST(Attention, TakesValuesOfAnotherWidth) {
  std::mt19937 random(8);
  const Problem x = random_problem(random, 2, 5, 7, 4);
  const auto whole = attention(x.q, x.k, x.v);
  const auto narrow = attention(x.q, x.k, slice(x.v, 2, 0, 3));
  EXPECT_LT(relative_error(narrow.o, slice(whole.o, 2, 0, 3)), 1e-14);
  const auto gradients = attention_gradients(x.q, x.k, slice(x.v, 2, 0, 3), slice(x.d_o, 2, 0, 3));
  EXPECT_EQ(gradients.dq.shape(), x.q.shape());
  EXPECT_EQ(gradients.dv.shape(), (Shape{2, 7, 3}));
}

TEST(Attention, RefusesShapesThatDoNotFit) {
  const Tensor64 q({2, 5, 4});
  const Tensor64 k({2, 7, 4});
  EXPECT_TRUE(mentions(complaint_of<std::invalid_argument>([&] {
                         attention(q, Tensor64({2, 7, 3}), k);
                       }),
                       "q [2, 5, 4], k [2, 7, 3] and v [2, 7, 4]: expected"));
  EXPECT_THROW(attention(q, Tensor64({3, 7, 4}), k), std::invalid_argument);  // heads of k
  EXPECT_THROW(attention(q, k, Tensor64({3, 7, 4})), std::invalid_argument);  // heads of v
  EXPECT_THROW(attention(q, k, Tensor64({2, 6, 4})), std::invalid_argument);  // keys
  EXPECT_THROW(attention(Tensor64({5, 4}), k, k), std::invalid_argument);     // axes
  EXPECT_THROW(attention(Tensor64({2, 5, 0}), Tensor64({2, 7, 0}), k), std::invalid_argument);
  EXPECT_THROW(attention_gradients(q, k, k, Tensor64({2, 5, 3})), std::invalid_argument);  // d_o
}

/// Central differences of sum(o * d_o) in every entry of `variable`, one of x's tensors.
Tensor64 differences(Problem& x, Tensor64& variable, const Mask& mask) {
  constexpr double kStep = 1e-5;
  Tensor64 result(variable.shape());
  for (Index i = 0; i < variable.size(); ++i) {
    const double middle = variable[i];
    variable[i] = middle + kStep;
    const double above = dot(attention(x.q, x.k, x.v, mask).o, x.d_o);
    variable[i] = middle - kStep;
    const double below = dot(attention(x.q, x.k, x.v, mask).o, x.d_o);
    variable[i] = middle;
    result[i] = (above - below) / (2 * kStep);
  }
  return result;
}

TEST(AttentionGradients, MatchCentralDifferences) {
  std::mt19937 random(9);
  Problem x = random_problem(random, 2, 5, 7, 3);
  for (const auto& [name, mask] : kMasks) {
    const auto [dq, dk, dv] = attention_gradients(x.q, x.k, x.v, x.d_o, mask);
    if (name == std::string("nothing")) {
      EXPECT_EQ(norm(dq) + norm(dk) + norm(dv), 0);
      continue;
    }
    EXPECT_LT(relative_error(dq, differences(x, x.q, mask)), 1e-8) << name;
    EXPECT_LT(relative_error(dk, differences(x, x.k, mask)), 1e-8) << name;
    EXPECT_LT(relative_error(dv, differences(x, x.v, mask)), 1e-8) << name;
  }
}

/// sum(lse * d_lse) over the queries that see a key.
double loss_of_lse(const Problem& x, const Tensor64& d_lse, const Mask& mask) {
  const Tensor64 lse = attention(x.q, x.k, x.v, mask).lse;
  double loss = 0;
  for (Index i = 0; i < lse.size(); ++i) loss += std::isfinite(lse[i]) ? lse[i] * d_lse[i] : 0;
  return loss;
}

TEST(AttentionGradients, CarryTheGradientOfLse) {
  std::mt19937 random(11);
  Problem x = random_problem(random, 2, 5, 7, 3);
  Tensor64 d_lse({2, 5});
  for (Index i = 0; i < d_lse.size(); ++i) d_lse[i] = std::sin(static_cast<double>(i + 1));
  for (const auto& [name, mask] : kMasks) {
    if (name == std::string("nothing")) continue;
    const auto without = attention_gradients(x.q, x.k, x.v, x.d_o, mask);
    const auto with = attention_gradients(x.q, x.k, x.v, x.d_o, mask, d_lse);
    EXPECT_EQ(with.dv.values(), without.dv.values());
    const std::pair<Tensor64*, std::pair<const Tensor64*, const Tensor64*>> variables[] = {
        {&x.q, {&with.dq, &without.dq}}, {&x.k, {&with.dk, &without.dk}}};
    for (const auto& [variable, gradients] : variables) {
      Tensor64 of_lse = *gradients.first;
      for (Index i = 0; i < of_lse.size(); ++i) of_lse[i] -= (*gradients.second)[i];
      constexpr double kStep = 1e-5;
      Tensor64 difference(variable->shape());
      for (Index i = 0; i < variable->size(); ++i) {
        const double middle = (*variable)[i];
        (*variable)[i] = middle + kStep;
        const double above = loss_of_lse(x, d_lse, mask);
        (*variable)[i] = middle - kStep;
        difference[i] = (above - loss_of_lse(x, d_lse, mask)) / (2 * kStep);
        (*variable)[i] = middle;
      }
      EXPECT_LT(relative_error(of_lse, difference), 1e-8) << name;
    }
  }
  EXPECT_THROW(attention_gradients(x.q, x.k, x.v, x.d_o, Mask{}, Tensor64({2, 4})), std::invalid_argument);
}

/// The sum over the rows of x [rows, cols] that are counted, [cols].
std::vector<double> sum_of_rows(MatrixView<const double> x, const std::function<bool(Index)>& counts) {
  std::vector<double> sum(x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index c = 0; c < x.cols() && counts(i); ++c) sum[c] += x(i, c);
  }
  return sum;
}

// Softmax is shift-invariant, so moving all keys alike changes nothing: sum_j dK_j = 0. Weights sum to 1 in
// every row that has a key: sum_j dV_j = sum_i dO_i over those rows. Scores are bilinear in q and k, o is
// linear in v: <dQ, Q> = <dK, K> and <dV, V> = <dO, O>.
TEST(AttentionGradients, ObeyTheFourIdentitiesInEveryHead) {
  std::mt19937 random(10);
  for (const NamedMask& named : kMasks) {
    const Mask& mask = named.mask;
    const auto every = [](Index) { return true; };
    const auto sees_a_key = [&](Index query) { return named.sees_a_key(query); };
    const Problem x = random_problem(random, 3, 5, 7, 4);
    const Tensor64 o = attention(x.q, x.k, x.v, mask).o;
    const auto [dq, dk, dv] = attention_gradients(x.q, x.k, x.v, x.d_o, mask);
    for (Index head = 0; head < 3; ++head) {
      const auto of_head = [&](const Tensor64& t) { return slice(t, 0, head, 1); };
      for (const double sum : sum_of_rows(dk.heads().head(head), every)) EXPECT_NEAR(sum, 0, 1e-13);
      const std::vector<double> dv_sum = sum_of_rows(dv.heads().head(head), every);
      const std::vector<double> d_o_sum = sum_of_rows(x.d_o.heads().head(head), sees_a_key);
      for (Index c = 0; c < 4; ++c) EXPECT_NEAR(dv_sum[c], d_o_sum[c], 1e-13);
      EXPECT_NEAR(dot(of_head(dq), of_head(x.q)), dot(of_head(dk), of_head(x.k)), 1e-12);
      EXPECT_NEAR(dot(of_head(dv), of_head(x.v)), dot(of_head(x.d_o), of_head(o)), 1e-12);
    }
  }
}

/// A head of keys and values that several heads of queries share is as many copies of it, whose gradients add
/// up.
TEST(AttentionGradients, OfSharedHeadsAreThoseOfCopiesAdded) {
  std::mt19937 random(12);
  for (const auto& [heads, kv_heads] : {std::pair<Index, Index>{6, 2}, {6, 3}, {5, 1}, {4, 4}}) {
    const Tensor64 q = normal(random, {heads, 5, 4}), k = normal(random, {kv_heads, 7, 4}),
                   v = normal(random, {kv_heads, 7, 3}), d_o = normal(random, {heads, 5, 3});
    std::vector<Index> shared(heads);
    for (Index head = 0; head < heads; ++head) shared[head] = head / (heads / kv_heads);
    const Tensor64 all_k = take(k, 0, shared), all_v = take(v, 0, shared);
    EXPECT_LT(relative_error(attention(q, k, v).o, attention(q, all_k, all_v).o), 1e-14);
    const auto [dq, dk, dv] = attention_gradients(q, k, v, d_o);
    const auto of_copies = attention_gradients(q, all_k, all_v, d_o);
    Tensor64 dk_sum(k.shape()), dv_sum(v.shape());
    for (Index head = 0; head < heads; ++head) {
      for (Index i = 0; i < 28; ++i) dk_sum[shared[head] * 28 + i] += of_copies.dk[head * 28 + i];
      for (Index i = 0; i < 21; ++i) dv_sum[shared[head] * 21 + i] += of_copies.dv[head * 21 + i];
    }
    EXPECT_LT(relative_error(dq, of_copies.dq), 1e-13);
    EXPECT_LT(relative_error(dk, dk_sum), 1e-13);
    EXPECT_LT(relative_error(dv, dv_sum), 1e-13);
  }
}

TEST(Attention, OfHeadsThatDoNotFitNamesTheShapes) {
  std::mt19937 random(13);
  const std::string said = complaint_of<std::invalid_argument>([&] {
    attention(normal(random, {3, 2, 4}), normal(random, {2, 2, 4}), normal(random, {2, 2, 4}));
  });
  EXPECT_TRUE(mentions(said, "q [3, 2, 4], k [2, 2, 4]")) << said;
}

}  // namespace
}  // namespace course::reference
