#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/numbers/compare.hpp"
#include "judge/numbers/input_generator.hpp"
#include "judge/numbers/known_factors.hpp"
#include "judge/numbers/precision.hpp"
#include "judge/numbers/wrong_entries.hpp"
#include "ring/shards.hpp"

namespace course {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double tolerated = 1e-5;
constexpr int seeds = 60;
const Output heads{"o", {"head", "row", "col"}, 1};
const Output matrix{"p", {"row", "col"}, 0};
const Output entries{"lse", {"row"}, 0};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What a player returns: float32.
Tensor64 returned(const Tensor64& x) {
  return cast<double>(cast<float>(x));
}

/// A right output [heads, rows, cols] of several ranks, with heads of different magnitudes.
struct Right {
  explicit Right(int seed)
      : generator(static_cast<std::uint64_t>(seed)),
        shards(unequal_shards(generator, generator.integer(2, 5))) {
    const Index rows = total_tokens(shards);
    expected = Tensor64({generator.integer(3, 5), rows, generator.integer(4, 9)});
    for (Index i = 0; i < expected.size(); ++i)
      expected[i] = generator.normal() * std::pow(10.0, static_cast<double>(head(i)) - 2);
  }

  Index head(Index i) const { return i / expected.extent(2) / expected.extent(1); }
  Index row(Index i) const { return i / expected.extent(2) % expected.extent(1); }
  int rank(Index i) const {
    int rank = 0;
    for (Index left = row(i); left >= shards[rank]; ++rank) left -= shards[rank];
    return rank;
  }
  /// A rank with two rows or more.
  int some_rank() {
    std::vector<int> candidates;
    for (std::size_t r = 0; r < shards.size(); ++r) {
      if (shards[r] > 1) candidates.push_back(static_cast<int>(r));
    }
    return one_of(generator, candidates);
  }
  std::string pattern_of(const Tensor64& answer) const {
    return error_pattern(heads, returned(answer), expected, tolerated, shards);
  }
  /// The expected answer with every entry changed by change(i, value).
  template <class Change>
  Tensor64 with(Change change) const {
    Tensor64 answer = expected;
    for (Index i = 0; i < answer.size(); ++i) answer[i] = change(i, expected[i]);
    return answer;
  }

  InputGenerator generator;
  std::vector<int> shards;
  Tensor64 expected;
};

/// A ring of so many ranks, of two tokens each.
Example ring(int ranks, Index head_dim) {
  const Index tokens = 2 * ranks;
  return {"a ring", {{"k", Tensor({1, tokens, head_dim})}}, {}, std::vector<int>(ranks, 2)};
}

// One corruption, and the words for it

TEST(Pattern, FactorOfAllEntries) {
  for (int seed = 1; seed <= seeds; ++seed) {
    const Right right(seed);
    for (const double factor : {1.001, 1.0004, 0.5, 2.0, -3.0, 1e-4, 1000.0}) {
      EXPECT_EQ(right.pattern_of(right.with([&](Index, double x) { return factor * x; })),
                fmt::format("o: every entry is {:g} times what it should be", factor))
          << seed;
    }
    EXPECT_EQ(right.pattern_of(right.with([](Index, double x) { return -x; })),
              "o: every entry has the wrong sign")
        << seed;
  }
}

TEST(Pattern, NoFactorIsToldThatFitsRightEntriesToo) {
  const double factors[] = {0.999942, 0.999999, 0.999998, 0.999973, 1, 1};
  for (int seed = 1; seed <= seeds; ++seed) {
    InputGenerator generator(static_cast<std::uint64_t>(seed));
    Tensor64 expected({2, 3, 128});
    for (double& x : expected.values()) x = generator.normal();
    Tensor64 answer = expected;
    for (Index i = 0; i < answer.size(); ++i) answer[i] *= factors[i / 128];
    const std::string pattern = error_pattern(heads, answer, expected, 5e-6, {});
    EXPECT_EQ(pattern.find("every entry"), std::string::npos) << pattern;
  }
}

TEST(Pattern, FactorsOfHeads) {
  for (int seed = 1; seed <= seeds; ++seed) {
    const Right right(seed);
    const auto by_head = [&](std::vector<double> factors) {
      factors.resize(8, 1);
      return right.pattern_of(right.with(
          [&](Index i, double x) { return factors[static_cast<std::size_t>(right.head(i))] * x; }));
    };
    EXPECT_EQ(by_head({1, 2}), "o: every entry of head 1 is 2 times what it should be") << seed;
    EXPECT_EQ(by_head({3, 1, 3}), "o: every entry of every wrong head is 3 times what it should be") << seed;
    EXPECT_EQ(
        by_head({3, 1, 0.25}),
        "o: every entry of head 0 is 3 times what it should be, every entry of head 2 is 0.25 times what "
        "it should be")
        << seed;
  }
}

TEST(Pattern, FactorOfARank) {
  for (int seed = 1; seed <= seeds; ++seed) {
    Right right(seed);
    const int rank = right.some_rank();
    EXPECT_EQ(
        right.pattern_of(right.with([&](Index i, double x) { return right.rank(i) == rank ? 1.5 * x : x; })),
        fmt::format("o: every entry of rank {} is 1.5 times what it should be", rank))
        << seed;
  }
}

TEST(Pattern, FactorsOfRows) {
  for (int seed = 1; seed <= seeds; ++seed) {
    Right right(seed);
    std::vector<double> factors(
        static_cast<std::size_t>(right.expected.extent(0) * right.expected.extent(1)));
    for (double& factor : factors) factor = right.generator.uniform(1.5, 4);
    const auto [least, most] = std::ranges::minmax(factors);
    const std::string text = right.pattern_of(right.with([&](Index i, double x) {
      return factors[static_cast<std::size_t>(i / right.expected.extent(2))] * x;
    }));
    EXPECT_EQ(text,
              fmt::format(
                  "o: every wrong row is what it should be times a number of its own, from {:.6g} to {:.6g}",
                  least, most))
        << seed;
  }
}

TEST(Pattern, ConstantOfAllEntries) {
  for (int seed = 1; seed <= seeds; ++seed) {
    InputGenerator generator(static_cast<std::uint64_t>(seed));
    Tensor64 expected({generator.integer(5, 40)});
    for (double& x : expected.values()) x = generator.normal();
    expected[0] = -infinity;
    std::vector<KnownFactor> known;
    const auto off_by = [&](double constant) {
      Tensor64 answer = expected;
      for (double& x : answer.values()) x += constant;
      return error_pattern(entries, returned(answer), expected, tolerated, {}, known);
    };
    for (const double constant : {0.25, -0.75})
      EXPECT_EQ(off_by(constant), fmt::format("lse: every entry is {} {} than it should be",
                                              std::abs(constant), constant > 0 ? "more" : "less"))
          << seed;
    EXPECT_EQ(off_by(std::log(2)), "lse: every entry is 0.693147 (log 2) more than it should be") << seed;
    EXPECT_EQ(off_by(-std::log(32)), "lse: every entry is 3.46574 (log 32) less than it should be") << seed;
    known = known_factors(ring(3, 128));
    EXPECT_EQ(off_by(std::log(3)),
              "lse: every entry is 1.09861 (log 3, and 3 is the number of ranks) more than it should be")
        << seed;
    EXPECT_EQ(off_by(-std::log(128)),
              "lse: every entry is 4.85203 (log 128, and 128 is head_dim) less than it should be")
        << seed;
  }
}

/// What is said of an answer that is off by this factor, of this example.
std::string factor_in_a_ring(double factor, const Example& example) {
  InputGenerator generator(1);
  Tensor64 expected({2, 6, 4});
  for (double& x : expected.values()) x = generator.normal();
  Tensor64 answer = expected;
  for (double& x : answer.values()) x *= factor;
  return error_pattern(heads, returned(answer), expected, tolerated, {}, known_factors(example));
}

TEST(Pattern, SaysWhatAFactorIs) {
  const Example three = ring(3, 64);
  const auto is = [](const std::string& number) {
    return "o: every entry is " + number + " times what it should be";
  };
  EXPECT_EQ(factor_in_a_ring(std::log(2), three), is("0.693147 (log 2)"));
  EXPECT_EQ(factor_in_a_ring(std::pow(std::log(2), 2), three), is("0.480453 (log 2 squared)"));
  EXPECT_EQ(factor_in_a_ring(1 / std::log(2), three), is("1.4427 (1 / log 2)"));
  EXPECT_EQ(factor_in_a_ring(3, three), is("3 (the number of ranks)"));
  EXPECT_EQ(factor_in_a_ring(1.0 / 3, three), is("0.333333 (1 / the number of ranks)"));
  EXPECT_EQ(factor_in_a_ring(8, three), is("8 (sqrt(head_dim))"));
  EXPECT_EQ(factor_in_a_ring(0.125, three), is("0.125 (1 / sqrt(head_dim))"));
  EXPECT_EQ(factor_in_a_ring(1.0 / 64, three), is("0.015625 (1 / head_dim)"));
  EXPECT_EQ(factor_in_a_ring(4, ring(4, 16)), is("4 (the number of ranks, or sqrt(head_dim))"));
}

TEST(Pattern, SaysNothingOfAFactorThatMayBeAnyOne) {
  const auto is = [](const std::string& number) {
    return "o: every entry is " + number + " times what it should be";
  };
  EXPECT_EQ(factor_in_a_ring(2, ring(2, 4)), is("2")) << "twice, whatever the number of ranks";
  EXPECT_EQ(factor_in_a_ring(0.5, ring(2, 4)), is("0.5"));
  EXPECT_EQ(factor_in_a_ring(0.69, ring(3, 64)), is("0.69")) << "next to log 2";
  EXPECT_EQ(factor_in_a_ring(8, {"no ring", {}}), is("8"));
}

TEST(Pattern, FactorOfTheSumOfEveryLse) {
  const auto factor = [](double level) {
    Tensor64 expected({12}), answer({12});
    for (Index i = 0; i < 12; ++i) {
      expected[i] = level + 0.3 * static_cast<double>(i);
      answer[i] = expected[i] + std::log(3);
    }
    return factor_throughout(entries, returned(answer), expected, tolerated, {});
  };
  ASSERT_TRUE(factor(1).has_value());
  EXPECT_NEAR(*factor(1), 3, 1e-4);
  EXPECT_FALSE(factor(-2000).has_value()) << "so far from 0 an lse has no digits left for it";
}

TEST(Pattern, FactorOfWrongEntriesAnywhere) {
  for (int seed = 1; seed <= seeds; ++seed) {
    Right right(seed);
    std::vector<bool> wrong(static_cast<std::size_t>(right.expected.size()));
    for (std::size_t i = 0; i < wrong.size(); ++i)
      wrong[i] = i % 3 == 0 || right.generator.uniform(0, 1) < 0.3;
    const auto changed = [&](auto change) {
      return right.pattern_of(
          right.with([&](Index i, double x) { return wrong[static_cast<std::size_t>(i)] ? change(x) : x; }));
    };
    EXPECT_EQ(changed([](double x) { return 1.5 * x; }),
              "o: every wrong entry is 1.5 times what it should be")
        << seed;
    EXPECT_EQ(changed([&](double x) { return right.generator.uniform(1.4, 1.6) * x; }), "") << seed;
  }
}

TEST(Pattern, HeadsThatHaveChangedPlaces) {
  for (int seed = 1; seed <= seeds; ++seed) {
    Right right(seed);
    const Index n = right.expected.extent(0);
    const Index head_size = right.expected.size() / n;
    const Index first = right.generator.integer(0, static_cast<int>(n) - 2);
    const Index second = right.generator.integer(static_cast<int>(first) + 1, static_cast<int>(n) - 1);
    const auto taken_from = [&](auto source) {
      return right.pattern_of(right.with([&](Index i, double) {
        return right.expected[i + (source(right.head(i)) - right.head(i)) * head_size];
      }));
    };
    EXPECT_EQ(taken_from([&](Index head) { return head == first    ? second
                                                  : head == second ? first
                                                                   : head; }),
              fmt::format("o: heads {} and {} have changed places", first, second))
        << seed;
    EXPECT_EQ(taken_from([&](Index head) { return head == first ? second : head; }),
              fmt::format("o: head {} holds what head {} should", first, second))
        << seed;
    EXPECT_EQ(taken_from([&](Index head) { return (head + n - 1) % n; }),
              "o: every head holds what the head before it should, cyclically")
        << seed;
  }
}

TEST(Pattern, RowsOfASecondTileThatAreThoseOfTheFirst) {
  InputGenerator generator(1);
  Tensor64 expected({10, 5});
  for (double& x : expected.values()) x = generator.normal();
  Tensor64 answer = expected;
  for (Index i = 0; i < 4 * 5; ++i) answer[6 * 5 + i] = expected[i];
  EXPECT_EQ(error_pattern(matrix, returned(answer), expected, tolerated, {}),
            "p: each of rows 6 to 9 of 10 holds what the row 6 places before it should");
}

TEST(Pattern, CountsThatAre0Or1AreAlikeByChance) {
  const Output work{"work", {"rank", "step"}, 0};
  const auto pattern = [&](const std::vector<double>& counts) {
    Tensor64 expected({4, 4}), answer({4, 4});
    std::ranges::copy(counts, expected.values().begin());
    for (Index i = 0; i < 16; ++i) answer[i] = expected[(i + 4) % 16];
    return error_pattern(work, answer, expected, tolerated, {});
  };
  EXPECT_FALSE(has(pattern({1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1}), "should"));
  EXPECT_EQ(pattern({1, 3, 0, 9, 4, 1, 6, 0, 7, 2, 1, 8, 5, 9, 2, 1}),
            "work: every rank returned what the rank after it should, cyclically");
}

TEST(Pattern, ShardsInAnotherRanksPlace) {
  for (int seed = 1; seed <= seeds; ++seed) {
    Right right(seed);
    const int ranks = right.generator.integer(3, 6);
    const int each = right.generator.integer(1, 5);
    right.shards.assign(static_cast<std::size_t>(ranks), each);
    right.expected = Tensor64({2, ranks * each, 6});
    for (double& x : right.expected.values()) x = right.generator.normal();
    const auto taken_from = [&](auto source) {
      return right.pattern_of(right.with([&](Index i, double) {
        return right.expected[i + (source(right.rank(i)) - right.rank(i)) * each * 6];
      }));
    };
    const int rank = right.generator.integer(0, ranks - 1);
    const int other = (rank + right.generator.integer(1, ranks - 1)) % ranks;
    EXPECT_EQ(taken_from([&](int r) { return r == rank ? other : r; }),
              fmt::format("o: rank {} returned what rank {} should", rank, other))
        << seed;
    EXPECT_EQ(taken_from([&](int r) { return (r + 1) % ranks; }),
              "o: every rank returned what the rank after it should, cyclically")
        << seed;
  }
}

TEST(Pattern, NoNumbers) {
  for (int seed = 1; seed <= seeds; ++seed) {
    Right right(seed);
    const int rank = right.some_rank();
    const Index count =
        right.expected.size() / right.expected.extent(1) * right.shards[static_cast<std::size_t>(rank)];
    const auto holding = [&](double value) {
      return right.pattern_of(
          right.with([&](Index i, double x) { return right.rank(i) == rank ? value : x; }));
    };
    EXPECT_EQ(holding(std::nan("")), fmt::format("o: the {} wrong entries are NaN", count)) << seed;
    EXPECT_EQ(holding(-infinity), fmt::format("o: the {} wrong entries are -inf", count)) << seed;
    EXPECT_EQ(holding(0), "") << "zeros() says it";
    const std::string some = right.pattern_of(right.with([&](Index i, double x) {
      return right.rank(i) == rank ? std::nan("") : x + right.generator.normal() + 1e3;
    }));
    EXPECT_TRUE(has(some, fmt::format("o: {} of the ", count))) << some;
    EXPECT_TRUE(has(some, fmt::format("NaN, all in the shard of rank {} of ", rank))) << some;
  }
}

/// lse of rows of which some see nothing.
Tensor64 with_empty_rows(const std::vector<double>& values) {
  return Tensor64({std::ssize(values)}, std::vector<double>(values));
}

TEST(Pattern, OneConstantInPlaceOfInfinity) {
  const Tensor64 expected = with_empty_rows({1.5, -infinity, 0.25, -infinity, -infinity, 2.5});
  const auto pattern = [&](const std::vector<double>& answer) {
    return error_pattern(entries, with_empty_rows(answer), expected, tolerated, {});
  };
  EXPECT_EQ(pattern({1.5, -1e30, 0.25, -1e30, -1e30, 2.5}),
            "lse: where -inf should be is -1e+30, in all of 3 places");
  EXPECT_EQ(pattern({1.5, 0, 0.75, 0, 0, 2.5}), "lse: where -inf should be is 0, in all of 3 places");
  EXPECT_EQ(pattern({1.5, -infinity, 0.25, -20, -20, 2.5}),
            "lse: where -inf should be is -20, in 2 of 3 places");
  EXPECT_EQ(pattern({1.5, -1e30, 0.25, -1e30, -2e30, 2.5}), "") << "two that agree by chance";
  EXPECT_EQ(pattern({1.5, -infinity, 0.25, -infinity, -1e30, 2.5}), "");
  EXPECT_EQ(pattern({1.5, -infinity, 0.25, -infinity, -infinity, 2.5}), "");
}

TEST(Zeros, AreToldOfTheWholeOfRanksAndOfHeads) {
  for (int seed = 1; seed <= seeds; ++seed) {
    Right right(seed);
    const auto told = [&](auto is_0) {
      return zeros(heads, returned(right.with([&](Index i, double x) { return is_0(i) ? 0 : x; })),
                   right.expected, tolerated, right.shards);
    };
    const int rank = right.some_rank();
    const Index n = right.expected.extent(0);
    EXPECT_EQ(told([](Index) { return true; }), "o is 0 everywhere") << seed;
    EXPECT_EQ(told([&](Index i) { return right.rank(i) == rank; }),
              fmt::format("o is 0 in all of rank {} of {}", rank, right.shards.size()))
        << seed;
    EXPECT_EQ(
        told([&](Index i) { return right.head(i) != 1; }),
        n == 3 ? "o is 0 in all of heads 0 and 2 of 3"
               : fmt::format("o is 0 in all of heads {} of {}", n == 4 ? "0, 2 and 3" : "0, 2, 3 and 4", n))
        << seed;
    EXPECT_EQ(told([&](Index i) { return right.head(i) == 1 && i % right.expected.extent(2) > 0; }), "")
        << seed;
    EXPECT_EQ(told([](Index) { return false; }), "") << seed;
  }
}

TEST(Zeros, AreNotToldWhereTheyShouldBe) {
  Tensor64 expected({2, 3, 2});
  for (Index i = 6; i < 12; ++i) expected[i] = 0.5 + static_cast<double>(i);  // head 0 sees nothing
  Tensor64 answer = expected;
  answer[7] = 0;
  answer[9] = 1;
  EXPECT_EQ(zeros(heads, answer, expected, tolerated, {}), "");
  const Tensor64 counts({2, 2, 1}, {0, 1, 2, 1});
  EXPECT_EQ(zeros(heads, Tensor64({2, 2, 1}, {0, 0, 3, 1}), counts, tolerated, {}), "")
      << "of whole numbers one may well be 0";
  EXPECT_EQ(zeros(heads, Tensor64({2, 2, 1}), counts, tolerated, {}), "o is 0 everywhere");
}

TEST(Pattern, Rounding) {
  for (int seed = 1; seed <= seeds; ++seed) {
    const Right right(seed);
    for (const Precision& precision : {bfloat16, float16}) {
      const std::string expected = fmt::format("o: every entry is rounded to {} ({} significant bits)",
                                               precision.name, precision.bits);
      EXPECT_EQ(right.pattern_of(right.with([&](Index, double x) { return rounded_to(precision, x); })),
                expected)
          << seed;
      const auto cut = [&](Index, double x) {
        const double step = spacing(precision, x);
        return std::trunc(x / step) * step;
      };
      EXPECT_EQ(right.pattern_of(right.with(cut)), expected) << seed;
    }
  }
}

TEST(Pattern, StripesInAnotherRanksPlace) {
  Right right(1);
  right.expected = Tensor64({2, 12, 6});
  for (double& x : right.expected.values()) x = right.generator.normal();
  const Tensor64 answer =
      right.with([&](Index i, double) { return right.expected[i + (right.row(i) % 3 == 2 ? -2 : 1) * 6]; });
  EXPECT_EQ(error_pattern(heads, returned(answer), right.expected, tolerated, Layout::striped(12, 3)),
            "o: every rank returned what the rank after it should, cyclically");
}

// What is no pattern

TEST(Pattern, UnrelatedNumbersHaveNone) {
  for (int seed = 1; seed <= 4 * seeds; ++seed) {
    Right right(seed);
    const std::vector<double> magnitude = typical_magnitudes(right.expected);
    for (const double size : {2e-5, 5e-5, 1e-4, 1.0 / 512, 0.1, 1.0, 100.0}) {
      const auto noisy = [&](double share) {
        return right.pattern_of(right.with([&](Index i, double x) {
          const double noise = size * magnitude[static_cast<std::size_t>(i)] * right.generator.normal();
          return right.generator.uniform(0, 1) < share ? x + noise : x;
        }));
      };
      for (const double share : {1.0, 0.3, 0.02}) EXPECT_EQ(noisy(share), "") << seed << " " << size;
    }
    EXPECT_EQ(right.pattern_of(right.with([&](Index, double) { return 1e-6 * right.generator.normal(); })),
              "")
        << seed;
    EXPECT_EQ(right.pattern_of(right.with([](Index, double) { return 1e6; })), "") << seed;
  }
}

TEST(Pattern, RoundNumbersThatAreFarOffHaveNone) {
  for (int seed = 1; seed <= seeds; ++seed) {
    Right right(seed);
    for (const double size : {0.05, 1.0}) {
      EXPECT_EQ(right.pattern_of(right.with([&](Index, double x) {
        return rounded_to(bfloat16, x * (1 + size * right.generator.normal()));
      })),
                "")
          << seed;
    }
  }
}

TEST(Pattern, ZeroAmongWholeNumbersIsNone) {
  const Tensor64 expected({3, 3}, {0, 2, 1, 1, 0, 2, 2, 1, 0});
  const Tensor64 answer({3, 3}, {0, 0, 1, 1, 0, 0, 2, 0, 0});
  EXPECT_EQ(error_pattern(matrix, answer, expected, tolerated, {}), "");
}

TEST(Pattern, NoiseNextToTheToleranceHasNone) {
  InputGenerator generator(1);
  Tensor64 expected({8, 400, 16});
  for (double& x : expected.values()) x = generator.normal();
  for (const double size : {1.1, 2.0, 3.9, 4.1, 8.0}) {
    Tensor64 answer = expected;
    for (double& x : answer.values()) x += size * tolerated * generator.normal();
    EXPECT_EQ(error_pattern(heads, answer, expected, tolerated, {}), "") << size;
  }
}

TEST(Pattern, FewNumbersProveNothing) {
  const Tensor64 expected({1, 2}, {1.25, -0.5});
  EXPECT_EQ(error_pattern(matrix, Tensor64({1, 2}, {2.5, -0.5}), expected, tolerated, {}), "");
  EXPECT_EQ(error_pattern(matrix, Tensor64({1, 2}, {2.5, -1}), expected, tolerated, {}), "");
  // Every row of one column is its own multiple of what it should be.
  InputGenerator generator(1);
  Tensor64 column({30, 1});
  Tensor64 answer({30, 1});
  for (Index i = 0; i < 30; ++i) {
    column[i] = generator.normal();
    answer[i] = generator.normal();
  }
  EXPECT_EQ(error_pattern(matrix, answer, column, tolerated, {}), "");
}

/// Two numbers a column prove little, thirty-two columns do.
TEST(Pattern, ColumnsInOtherPlacesAreProvenTogether) {
  for (int seed = 1; seed <= seeds; ++seed) {
    InputGenerator generator(static_cast<std::uint64_t>(seed));
    Tensor64 expected({1, 2, 32}), answer({1, 2, 32});
    for (double& x : expected.values()) x = 0.3 * generator.normal();
    for (Index i = 0; i < expected.size(); ++i) answer[i / 32 * 32 + i % 16 * 2 + i % 32 / 16] = expected[i];
    EXPECT_EQ(
        error_pattern(heads, returned(answer), expected, 2e-6, {}),
        "o: col 1 holds what col 16 should; col 2 holds what col 1 should; col 3 holds what col 17 should; "
        "col 4 holds what col 2 should; and so on")
        << seed;
    EXPECT_TRUE(is_one_relation(heads, returned(answer), expected, 2e-6, {})) << seed;
    answer[5] += 0.5;
    EXPECT_FALSE(is_one_relation(heads, returned(answer), expected, 2e-6, {})) << seed;
  }
}

TEST(Pattern, AlikePartsAreNotToldApart) {
  InputGenerator generator(1);
  Tensor64 expected({4, 5, 6});
  for (Index i = 0; i < 60; ++i) expected[i] = generator.normal();
  for (Index i = 60; i < 120; ++i) expected[i] = expected[i - 30];  // heads 1, 2 and 3 are the same
  Tensor64 answer = expected;
  std::copy_n(expected.data() + 30, 30, answer.data());  // head 0 holds what 1, 2 or 3 should
  EXPECT_EQ(error_pattern(heads, answer, expected, tolerated, {}), "");
}

TEST(Pattern, RowsOfZerosAreNoMaskedRow) {
  InputGenerator generator(1);
  Tensor64 expected({6, 8});
  for (Index i = 8; i < expected.size(); ++i) expected[i] = generator.normal();  // row 0 is masked
  Tensor64 answer = expected;
  std::fill_n(answer.data() + 8, 8, 0.0);
  for (Index i = 24; i < 32; ++i) answer[i] = generator.normal();
  EXPECT_EQ(error_pattern(matrix, answer, expected, tolerated, {}), "");
}

TEST(Pattern, RightAnswersHaveNone) {
  for (int seed = 1; seed <= seeds; ++seed) {
    Right right(seed);
    EXPECT_EQ(right.pattern_of(right.expected), "") << seed;
    EXPECT_EQ(right.pattern_of(right.with([&](Index, double x) {
      return x * (1 + 0.9 * tolerated * right.generator.uniform(-1, 1));
    })),
              "")
        << seed;
  }
  EXPECT_EQ(error_pattern(heads, Tensor64({2, 0, 3}), Tensor64({2, 0, 3}), tolerated, {}), "");
  EXPECT_EQ(error_pattern(heads, Tensor64({0, 2, 3}), Tensor64({0, 2, 3}), tolerated, {{0, 2}}), "");
}

// Where the wrong entries lie

/// The part of locate()'s text after "wrong"; `wrong` says which entries are.
template <class Wrong>
std::string where(Right& right, const Layout& layout, Wrong wrong) {
  const Tensor64 answer =
      right.with([&](Index i, double x) { return wrong(i) ? 1e3 + right.generator.normal() : x; });
  const std::string text = locate(heads, returned(answer), right.expected, tolerated, layout);
  return text.substr(text.find(" wrong") + 6);
}

TEST(Locality, IsTheNarrowestThatHoldsAllWrongEntries) {
  for (int seed = 1; seed <= seeds; ++seed) {
    Right right(seed);
    const Index n = right.expected.extent(0);
    const Index rows = right.expected.extent(1);
    const Index cols = right.expected.extent(2);
    EXPECT_EQ(where(right, {}, [&](Index i) { return right.head(i) % 2 == 0 && right.head(i) < 3; }),
              fmt::format(", all in heads 0 and 2 of {}", n))
        << seed;
    EXPECT_EQ(where(right, {},
                    [&](Index i) { return right.row(i) >= 1 && right.row(i) <= 2 && right.head(i) == 1; }),
              fmt::format(", all in head 1 of {}, rows 1 to 2 of {}", n, rows))
        << seed;
    EXPECT_EQ(where(right, {}, [&](Index i) { return i % cols < 2; }),
              fmt::format(", all in cols 0 to 1 of {}", cols))
        << seed;
    EXPECT_EQ(where(right, {}, [](Index) { return true; }), "") << seed;
  }
}

TEST(Locality, NamesWholeShards) {
  for (int seed = 1; seed <= seeds; ++seed) {
    Right right(seed);
    const int rank = right.some_rank();
    const Index rows = right.expected.extent(1);
    const int first = shard_offsets(right.shards)[static_cast<std::size_t>(rank)];
    const int last = first + right.shards[static_cast<std::size_t>(rank)] - 1;
    EXPECT_EQ(where(right, right.shards, [&](Index i) { return right.rank(i) == rank; }),
              fmt::format(", all in the shard of rank {} of {} (rows {} to {} of {})", rank,
                          right.shards.size(), first, last, rows))
        << seed;
    EXPECT_EQ(where(right, right.shards, [&](Index i) { return right.row(i) == last; }),
              fmt::format(", all in row {} of {} (counted over all ranks), in the shard of rank {}", last,
                          rows, rank))
        << seed;
  }
}

TEST(Locality, NamesShardsThatLieInPieces) {
  Right right(1);
  right.expected = Tensor64({2, 20, 5});
  for (double& x : right.expected.values()) x = right.generator.normal();
  const Layout striped = Layout::striped(20, 4), zigzag = Layout::zigzag(even_shards(20, 6));
  const auto rows = [&](const Layout& layout, auto wrong) {
    return where(right, layout, [&](Index i) { return wrong(right.row(i)); });
  };
  const auto of_rank = [&](const Layout& layout, int rank) {
    return rows(layout, [&](Index row) { return layout.place(row).rank == rank; });
  };
  EXPECT_EQ(of_rank(striped, 2), ", all in the shard of rank 2 of 4 (rows 2, 6, 10, 14 ... of 20)");
  EXPECT_EQ(of_rank(zigzag, 1), ", all in the shard of rank 1 of 3 (rows 4 to 7 and 14 to 16 of 20)");
  EXPECT_EQ(of_rank(zigzag, 2), ", all in the shard of rank 2 of 3 (rows 8 to 13 of 20)");
  EXPECT_EQ(rows(striped, [](Index row) { return row % 2 == 0; }),
            ", all in the shards of ranks 0 and 2 of 4");
  EXPECT_EQ(rows(striped, [](Index row) { return row == 6; }),
            ", all in row 6 of 20 (counted over all ranks), in the shard of rank 2");
  EXPECT_EQ(rows(zigzag, [](Index row) { return row < 3 || row > 17; }), ", all in the shard of rank 0");
  EXPECT_EQ(rows(zigzag, [](Index row) { return row < 5 || row > 17; }), "");
}

TEST(Locality, CountsARowWithinTheShardThatItLiesIn) {
  Tensor64 expected({2, 20, 5}, 1), answer = expected;
  answer.heads()(1, 15, 3) = 2;
  const std::string text = locate(heads, answer, expected, tolerated, Layout::zigzag(even_shards(20, 6)));
  EXPECT_EQ(text.substr(0, text.find(" is")), "rank 1: o[head 1, row 5, col 3]");
}

TEST(Locality, OfScatteredEntriesTellsNoHeadsAndColumns) {
  for (int seed = 1; seed <= seeds; ++seed) {
    for (const double share : {0.02, 0.1, 0.5}) {
      Right right(seed);
      InputGenerator choice = right.generator.fork("choice");
      std::vector<bool> wrong(static_cast<std::size_t>(right.expected.size()));
      for (std::size_t i = 0; i < wrong.size(); ++i) wrong[i] = choice.uniform(0, 1) < share;
      wrong[0] = true;
      const std::string text = where(right, {}, [&](Index i) { return wrong[static_cast<std::size_t>(i)]; });
      EXPECT_FALSE(has(text, "head") || has(text, "col")) << text;
    }
  }
}

}  // namespace

}  // namespace course
