#include <gtest/gtest.h>

#include "judge/attention/layouts/layouts.hpp"
#include "judge/numbers/compare.hpp"
#include "player/plain_attention.hpp"
#include "reference/mask.hpp"
#include "reference/reference.hpp"
#include "requests.hpp"
#include "ring/shards.hpp"

// What holds on every layout, for numbers of ranks, tokens and heads that are drawn.

namespace course {
namespace {

struct World {
  std::string what;
  Layout layout;
  QKV x;
  Tensor d_o;
};

/// Calls `look` with worlds of all kinds of layouts, with 1 to 9 ranks and `fewest` to 40 tokens.
template <class Look>
void in_many_worlds(std::uint64_t seed, int fewest, Look look) {
  InputGenerator generator(seed);
  for (int draw = 0; draw < 20; ++draw) {
    const int ranks = generator.integer(1, 9), tokens = generator.integer(fewest, 40);
    const Index heads = generator.integer(1, 3), head_dim = generator.integer(2, 5);
    const QKV x = random_qkv(generator, heads, tokens, tokens, head_dim);
    const Tensor d_o = generator.normal(x.q.shape());
    for (const auto& [kind, layout] : layouts::all_kinds(generator, tokens, ranks)) {
      const std::string what =
          std::to_string(tokens) + " tokens on " + std::to_string(ranks) + " ranks, " + kind;
      SCOPED_TRACE(what);
      look(World{what, layout, x, d_o});
    }
  }
}

TEST(EveryLayout, GivesBackWhatItHasCut) {
  in_many_worlds(1, 0, [](const World& world) {
    std::vector<Tensor> shards;
    for (int rank = 0; rank < world.layout.ranks(); ++rank)
      shards.push_back(world.layout.shard(world.x.q, 1, rank));
    EXPECT_EQ(world.layout.join(shards, 1).values(), world.x.q.values());
  });
}

TEST(EveryLayout, HasEachPairOfTheTriangleInOneTile) {
  in_many_worlds(2, 0, [](const World& world) {
    const Layout& layout = world.layout;
    const int tokens = layout.tokens();
    std::vector<int> times(tokens * tokens), expected(tokens * tokens);
    for (int q = 0; q < tokens; ++q) {
      for (int k = 0; k <= q; ++k) expected[q * tokens + k] = 1;
    }
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      for (int owner = 0; owner < layout.ranks(); ++owner) {
        const std::vector<Index>& queries = layout.positions(rank);
        const reference::Mask tile = reference::Mask::causal().among(queries, layout.positions(owner));
        for (Index i = 0; i < std::ssize(queries); ++i) {
          for (Index j = tile.keys(i).first; j < tile.keys(i).last; ++j)
            ++times[queries[i] * tokens + layout.positions(owner)[j]];
        }
      }
    }
    EXPECT_EQ(times, expected);
  });
}

/// Every rank's attention and gradients, block by block in the order of a ring, in the order of positions.
struct Computed {
  Tensor o, lse, dq, dk, dv;
};

Computed compute(const World& world) {
  const Layout& layout = world.layout;
  const int ranks = layout.ranks();
  const auto shards_of = [&](const Tensor& whole) {
    std::vector<Tensor> shards;
    for (int rank = 0; rank < ranks; ++rank) shards.push_back(layout.shard(whole, 1, rank));
    return shards;
  };
  const std::vector<Tensor> q = shards_of(world.x.q), k = shards_of(world.x.k), v = shards_of(world.x.v);
  const std::vector<Tensor> d_o = shards_of(world.d_o);
  std::vector<Tensor> o = q, lse, dq, dk, dv;
  for (const Tensor& shard : q) {
    lse.emplace_back(Shape{shard.extent(0), shard.extent(1)});
    for (std::vector<Tensor>* gradient : {&dq, &dk, &dv}) gradient->emplace_back(shard.shape());
  }
  const auto each_block = [&](int rank, auto work) {
    for (int hop = 0; hop < ranks; ++hop) {
      const int owner = (rank - hop + ranks) % ranks;
      const reference::Mask tile =
          reference::Mask::causal().among(layout.positions(rank), layout.positions(owner));
      std::vector<KeyRange> seen;
      for (Index i = 0; i < layout.tokens(rank); ++i) seen.push_back(tile.keys(i));
      work(owner, seen);
    }
  };
  for (int rank = 0; rank < ranks; ++rank) {
    AttentionState state(q[rank].extent(0), q[rank].extent(1), q[rank].extent(2));
    each_block(rank, [&](int owner, const std::vector<KeyRange>& seen) {
      plain::accumulate(request_of(q[rank], k[owner], v[owner], seen), state);
    });
    plain::finish(state, o[rank].heads(), lse[rank].matrix());
    Tensor delta(lse[rank].shape());
    for (Index i = 0; i < o[rank].size(); ++i) delta[i / o[rank].extent(2)] += o[rank][i] * d_o[rank][i];
    each_block(rank, [&](int owner, const std::vector<KeyRange>& seen) {
      plain::accumulate_backward(request_of(q[rank], k[owner], v[owner], seen), d_o[rank].heads(),
                                 lse[rank].matrix(), delta.matrix(), dq[rank].heads(), dk[owner].heads(),
                                 dv[owner].heads());
    });
  }
  return {layout.join(o, 1), layout.join(lse, 1), layout.join(dq, 1), layout.join(dk, 1), layout.join(dv, 1)};
}

/// All of a tensor as one group, since the gradients of a head of few tokens may cancel.
double off_by(const Tensor& computed, const Tensor64& right) {
  const Shape all{right.size()};
  return relative_error(Tensor64(all, cast<double>(computed).values()), Tensor64(all, right.values()));
}

TEST(EveryLayout, HasTheSameAttentionAndGradients) {
  in_many_worlds(3, 6, [](const World& world) {
    const auto in_64 = [](const Tensor& x) { return cast<double>(x); };
    const QKV& x = world.x;
    const auto right = reference::attention(in_64(x.q), in_64(x.k), in_64(x.v), reference::Mask::causal());
    const auto gradients = reference::attention_gradients(in_64(x.q), in_64(x.k), in_64(x.v),
                                                          in_64(world.d_o), reference::Mask::causal());
    const Computed computed = compute(world);
    EXPECT_LT(off_by(computed.o, right.o), 1e-5);
    EXPECT_LT(off_by(computed.lse, right.lse), 1e-5);
    EXPECT_LT(off_by(computed.dq, gradients.dq), 1e-4);
    EXPECT_LT(off_by(computed.dk, gradients.dk), 1e-4);
    EXPECT_LT(off_by(computed.dv, gradients.dv), 1e-5);
  });
}

TEST(LessonsTables, AreThoseOfTheMasks) {
  // Lesson 14, of 20 tokens on 3 ranks, of 24, to which they would be padded, and of 16 on 4.
  const auto slowest = [](const Layout& layout) {
    Index all = 0;
    for (int step = 0; step < layout.ranks(); ++step) {
      Index most = 0;
      for (int rank = 0; rank < layout.ranks(); ++rank) {
        const int owner = (rank - step + layout.ranks()) % layout.ranks();
        most =
            std::max(most, reference::Mask::causal().work(layout.positions(rank), layout.positions(owner)));
      }
      all += most;
    }
    return all;
  };
  EXPECT_EQ(slowest(Layout::zigzag(even_shards(20, 6))), 80);
  EXPECT_EQ(slowest(Layout::zigzag(even_shards(24, 6))), 100);
  EXPECT_EQ(slowest(std::vector{4, 4, 4, 4}), 58);
  EXPECT_EQ(slowest(Layout::striped(16, 4)), 40);
  EXPECT_EQ(slowest(Layout::zigzag(even_shards(16, 8))), 34);
  EXPECT_EQ(slowest(Layout::of({{0, 7, 8, 15}, {1, 6, 9, 14}, {2, 5, 10, 13}, {3, 4, 11, 12}})), 34);
}

}  // namespace
}  // namespace course
