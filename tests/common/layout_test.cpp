#include "ring/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "complaint.hpp"
#include "reference/hops.hpp"
#include "ring/shards.hpp"

namespace course {
namespace {

using reference::KeyRange;
using reference::Mask;
using reference::Tile;
using Positions = std::vector<Index>;

/// Ranks that are drawn for every position by itself.
Layout scattered(std::mt19937& random, Index tokens, int ranks) {
  std::vector<Positions> positions(ranks);
  for (Index position = 0; position < tokens; ++position) positions[random() % ranks].push_back(position);
  return Layout::of(std::move(positions));
}

/// Layouts of `tokens` positions of every kind.
std::vector<Layout> layouts(std::mt19937& random, int tokens, int ranks) {
  std::vector<int> unequal(ranks), chunks(2 * ranks);
  for (int i = 0; i < tokens; ++i) ++unequal[random() % ranks], ++chunks[random() % chunks.size()];
  return {even_shards(tokens, ranks),     unequal,
          Layout::striped(tokens, ranks), Layout::zigzag(even_shards(tokens, 2 * ranks)),
          Layout::zigzag(chunks),         scattered(random, tokens, ranks)};
}

Positions all_positions(Index tokens) {
  Positions all(tokens);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<Positions> lists_of(const Layout& layout) {
  std::vector<Positions> lists;
  for (int rank = 0; rank < layout.ranks(); ++rank) lists.push_back(layout.positions(rank));
  return lists;
}

std::string refusal(const std::vector<Positions>& positions) {
  return complaint_of<std::invalid_argument>([&] { Layout::of(positions); });
}

// Layouts

TEST(Layout, GivesEachRankItsPositions) {
  using Lists = std::vector<Positions>;
  EXPECT_EQ(lists_of(std::vector{2, 0, 3}), (Lists{{0, 1}, {}, {2, 3, 4}}));
  EXPECT_EQ(lists_of(Layout::striped(7, 3)), (Lists{{0, 3, 6}, {1, 4}, {2, 5}}));
  EXPECT_EQ(lists_of(Layout::zigzag({2, 2, 2, 2, 2, 2})),
            (Lists{{0, 1, 10, 11}, {2, 3, 8, 9}, {4, 5, 6, 7}}));
  EXPECT_EQ(lists_of(Layout::zigzag({1, 0, 2, 3})), (Lists{{0, 3, 4, 5}, {1, 2}}));
  EXPECT_EQ(lists_of(Layout::of({{1, 2}, {0, 3}})), (Lists{{1, 2}, {0, 3}}));
  EXPECT_EQ(Layout().ranks(), 0);
}

TEST(Layout, FindsWhereAPositionLies) {
  std::mt19937 random(1);
  for (const Layout& layout : layouts(random, 23, 4)) {
    EXPECT_EQ(layout.tokens(), 23);
    EXPECT_EQ(total_tokens(layout.shard_tokens()), 23);
    for (Index position = 0; position < 23; ++position) {
      const auto [rank, row] = layout.place(position);
      EXPECT_EQ(layout.positions(rank).at(row), position);
    }
    EXPECT_THROW(layout.place(23), std::out_of_range);
    EXPECT_THROW(layout.place(-1), std::out_of_range);
  }
}

TEST(Layout, CutsTensorsAndJoinsThem) {
  std::mt19937 random(2);
  Tensor whole({3, 13, 2});
  std::iota(whole.values().begin(), whole.values().end(), 0.0f);
  for (const Layout& layout : layouts(random, 13, 3)) {
    std::vector<Tensor> shards;
    for (int rank = 0; rank < 3; ++rank) {
      shards.push_back(layout.shard(whole, 1, rank));
      ASSERT_EQ(shards[rank].shape(), (Shape{3, layout.tokens(rank), 2}));
      for (Index row = 0; row < layout.tokens(rank); ++row)
        EXPECT_EQ(shards[rank].heads()(1, row, 1), whole.heads()(1, layout.positions(rank)[row], 1));
    }
    EXPECT_EQ(layout.join(shards, 1).values(), whole.values());
  }
}

TEST(Layout, IsMadeByItsName) {
  EXPECT_EQ(lists_of(Layout::named("contiguous", 7, 3)), lists_of(Layout({3, 2, 2})));
  EXPECT_EQ(lists_of(Layout::named("striped", 7, 3)), lists_of(Layout::striped(7, 3)));
  EXPECT_EQ(lists_of(Layout::named("zigzag", 7, 3)), lists_of(Layout::zigzag({2, 1, 1, 1, 1, 1})));
  EXPECT_THROW(Layout::named("sideways", 7, 3), std::invalid_argument);
  for (const char* name : layout_names) EXPECT_EQ(Layout::named(name, 2, 5).ranks(), 5) << name;
}

TEST(Layout, RefusesListsThatAreNoLayout) {
  EXPECT_EQ(refusal({{0, 1}, {3}}), "no rank owns position 2 of 3; rank 1 owns position 3");
  EXPECT_EQ(refusal({{0, 2}, {1, 2}}), "rank 1 owns position 2, and so does rank 0");
  EXPECT_EQ(refusal({{}, {1, 0}}), "rank 1 owns position 0, expected 2 or more: a rank's positions ascend");
  EXPECT_EQ(refusal({{0, 0}}), "rank 0 owns position 0, expected 1 or more: a rank's positions ascend");
  EXPECT_EQ(refusal({{-1, 0}}), "rank 0 owns position -1, expected 0 or more: a rank's positions ascend");
  EXPECT_EQ(refusal({{0}, {}, {1}}), "nothing was thrown");
  EXPECT_THROW(Layout({2, -1, 2}), std::invalid_argument);
  EXPECT_THROW(Layout::striped(5, 0), std::invalid_argument);
  EXPECT_THROW(Layout::zigzag({1, 2, 3}), std::invalid_argument);
  EXPECT_THROW(Layout::zigzag({1, -2}), std::invalid_argument);
}

// Masks

/// Of 12 positions; with some, queries see no key.
const std::vector<Mask> masks{Mask::none(),
                              Mask::causal(),
                              Mask::causal(3),
                              Mask::causal(-4),
                              Mask::window(5),
                              Mask::window(3, -2),
                              Mask::documents({0, 4, 4, 9}),
                              Mask::documents({0, 1, 7, 12}) & Mask::causal(),
                              Mask::documents({0, 6, 12}) & Mask::window(4)};

bool visible(const Mask& mask, Index query, Index key) {
  const auto [first, last] = mask.keys(query);
  return first <= key && key < last;
}

/// The pairs of these queries and keys that the mask shows.
Index counted(const Mask& mask, const Positions& queries, const Positions& keys) {
  Index pairs = 0;
  for (const Index query : queries)
    for (const Index key : keys) pairs += visible(mask, query, key) ? 1 : 0;
  return pairs;
}

TEST(Mask, GivesEachQueryItsKeys) {
  EXPECT_EQ(Mask::none().keys(5).first, 0);
  EXPECT_GT(Mask::none().keys(5).last, 1'000'000'000);
  EXPECT_EQ(Mask::causal().keys(3), (KeyRange{0, 4}));
  EXPECT_EQ(Mask::causal(2).keys(3), (KeyRange{0, 6}));
  EXPECT_EQ(Mask::causal(-9).keys(3), (KeyRange{0, 0}));
  EXPECT_EQ(Mask::window(3).keys(1), (KeyRange{0, 2}));
  EXPECT_EQ(Mask::window(3).keys(7), (KeyRange{5, 8}));
  EXPECT_EQ(Mask::window(3, -2).keys(1), (KeyRange{0, 0}));
  const Mask documents = Mask::documents({0, 4, 4, 9});
  EXPECT_EQ(documents.keys(3), (KeyRange{0, 4}));
  EXPECT_EQ(documents.keys(4), (KeyRange{4, 9}));
  const KeyRange beyond = documents.keys(9);
  EXPECT_EQ(beyond.first, beyond.last);
  EXPECT_EQ((documents & Mask::causal()).keys(6), (KeyRange{4, 7}));
  const Mask ranges = Mask::ranges({{2, 5}, {-3, 4}, {6, 1}});
  EXPECT_EQ(ranges.keys(0), (KeyRange{2, 5}));
  EXPECT_EQ(ranges.keys(1), (KeyRange{0, 4}));
  EXPECT_EQ(ranges.keys(2), (KeyRange{6, 6})) << "a range that ends before it begins is empty";
  EXPECT_EQ(ranges.keys(3), (KeyRange{0, 0})) << "there is no fourth query";
}

TEST(Mask, OfAPackedRowIsOfItsDocuments) {
  const std::vector<Index> starts{0, 4, 9};
  EXPECT_EQ(Mask::packed(starts, false, 0).keys(6), (KeyRange{4, 9}));
  EXPECT_EQ(Mask::packed(starts, true, 0).keys(6), (KeyRange{4, 7}));
  EXPECT_EQ(Mask::packed(starts, true, 2).keys(6), (KeyRange{5, 7}));
  EXPECT_EQ(Mask::packed(starts, true, 2).keys(4), (KeyRange{4, 5}));
  EXPECT_EQ(Mask::packed({}, true, 2).keys(4), (KeyRange{3, 5})) << "one document without an end";
}

/// Five tokens on each of four ranks.
TEST(Mask, SaysHowFarABlockTravels) {
  const Layout layout(std::vector<int>(4, 5));
  EXPECT_EQ(reference::hops_needed(layout, Mask::causal()), (std::vector<int>{3, 2, 1, 0}));
  EXPECT_EQ(reference::hops_needed(layout, Mask::packed({0, 20}, true, 7)), (std::vector<int>{2, 2, 1, 0}));
  EXPECT_EQ(reference::hops_needed(layout, Mask::packed({0, 6, 20}, true, 0)),
            (std::vector<int>{1, 2, 1, 0}));
}

TEST(Mask, RefusesWhatIsNone) {
  EXPECT_THROW(Mask::window(0), std::invalid_argument);
  EXPECT_THROW(Mask::documents({}), std::invalid_argument);
  EXPECT_THROW(Mask::documents({1, 4}), std::invalid_argument);
  EXPECT_THROW(Mask::documents({0, 5, 4}), std::invalid_argument);
}

TEST(Mask, OfSomePositionsIsThatOfTheWhole) {
  const Positions queries{1, 5, 6, 11};
  const Positions keys{0, 2, 3, 7, 10};
  for (const Mask& mask : masks) {
    const Mask local = mask.among(queries, keys);
    for (Index i = 0; i < std::ssize(queries); ++i) {
      for (Index j = 0; j < std::ssize(keys); ++j)
        EXPECT_EQ(visible(local, i, j), visible(mask, queries[i], keys[j])) << i << " " << j;
    }
  }
}

TEST(Mask, WorkAndTilesAgreeWithCountingInEveryLayout) {
  std::mt19937 random(3);
  for (const Mask& mask : masks) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      for (const Layout& layout : layouts(random, 12, ranks)) {
        Index work = 0;
        for (int q = 0; q < ranks; ++q) {
          for (int k = 0; k < ranks; ++k) {
            const Positions& queries = layout.positions(q);
            const Positions& keys = layout.positions(k);
            const Index pairs = counted(mask, queries, keys);
            work += mask.work(queries, keys);
            EXPECT_EQ(mask.work(queries, keys), pairs);
            EXPECT_EQ(mask.tile(queries, keys), pairs == 0 ? Tile::Empty
                                                : pairs == std::ssize(queries) * std::ssize(keys)
                                                    ? Tile::Full
                                                    : Tile::Mixed);
          }
        }
        EXPECT_EQ(work, counted(mask, all_positions(12), all_positions(12)));
      }
    }
  }
}

// What the layouts make of a causal mask

/// The scores of every rank's queries against the block that is with it after so many hops, by rank.
std::vector<Index> work_at(const Layout& layout, int hop) {
  std::vector<Index> work;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    const int owner = (rank - hop + layout.ranks()) % layout.ranks();
    work.push_back(Mask::causal().work(layout.positions(rank), layout.positions(owner)));
  }
  return work;
}

TEST(CausalWork, OfContiguousShardsWaitsForTheLastRank) {
  for (const Index c : {1, 4, 7}) {
    for (const int ranks : {1, 2, 3, 8}) {
      const Layout layout(std::vector<int>(ranks, static_cast<int>(c)));
      Index slowest = 0, all = 0;
      for (int hop = 0; hop < ranks; ++hop) {
        const std::vector<Index> work = work_at(layout, hop);
        slowest += std::ranges::max(work);
        all += std::accumulate(work.begin(), work.end(), Index{0});
      }
      // P - 1/2 blocks of c^2 scores against a mean of P/2, but for the diagonal.
      EXPECT_EQ(2 * slowest, (2 * ranks - 1) * c * c + c);
      EXPECT_EQ(2 * all, ranks * (ranks * c * c + c));
      for (int q = 0; q < ranks; ++q) {
        for (int k = 0; k < ranks; ++k) {
          if (q == k && c == 1) continue;  // a single pair
          EXPECT_EQ(Mask::causal().tile(layout.positions(q), layout.positions(k)), q < k    ? Tile::Empty
                                                                                   : q == k ? Tile::Mixed
                                                                                            : Tile::Full);
        }
      }
    }
  }
}

TEST(CausalWork, OfStripesDependsOnWhoseComesFirst) {
  for (const int ranks : {1, 2, 3, 8}) {
    const Index c = 6;
    const Layout layout = Layout::striped(static_cast<int>(c) * ranks, ranks);
    for (int q = 0; q < ranks; ++q) {
      for (int k = 0; k < ranks; ++k) {
        EXPECT_EQ(Mask::causal().work(layout.positions(q), layout.positions(k)),
                  q >= k ? c * (c + 1) / 2 : c * (c - 1) / 2);
        EXPECT_EQ(Mask::causal().tile(layout.positions(q), layout.positions(k)), Tile::Mixed);
      }
    }
  }
}

TEST(CausalWork, OfEqualZigzagChunksIsTheSameForAllRanksAtEveryStep) {
  for (const int ranks : {1, 2, 3, 8}) {
    const Index c = 10;
    const Layout layout = Layout::zigzag(std::vector<int>(2 * ranks, static_cast<int>(c) / 2));
    for (int hop = 0; hop < ranks; ++hop)
      EXPECT_EQ(work_at(layout, hop), std::vector<Index>(ranks, hop == 0 ? c * (c + 1) / 2 : c * c / 2));
  }
}

TEST(CausalWork, OfUnequalZigzagChunksIsNot) {
  EXPECT_EQ(work_at(Layout::zigzag(even_shards(20, 6)), 0), (std::vector<Index>{28, 28, 21}));
}

TEST(CausalWork, OfABoustrophedonOrderIsBalancedInAll) {
  const Layout layout = Layout::of({{0, 7, 8, 15}, {1, 6, 9, 14}, {2, 5, 10, 13}, {3, 4, 11, 12}});
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(Mask::causal().work(layout.positions(rank), all_positions(16)), 16 * 17 / 2 / 4);
}

}  // namespace
}  // namespace course
