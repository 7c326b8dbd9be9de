#include "player/masked_blocks.hpp"

#include <gtest/gtest.h>

#include "complaint.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/input_generator.hpp"
#include "player/plain_attention.hpp"
#include "player/played_case.hpp"
#include "requests.hpp"

// The masked computation made of a lesson's blocks against the plain one, which goes query by query.

namespace course {
namespace {

constexpr int kinds = 6;

/// Ranges of `keys` keys for `queries` queries, of one of the kinds.
std::vector<KeyRange> drawn_ranges(InputGenerator& generator, int kind, int queries, int keys) {
  std::vector<KeyRange> seen;
  const int offset = generator.integer(-queries, keys), width = generator.integer(1, keys + 1);
  for (int i = 0; i < queries; ++i) {
    const auto clamped = [&](int key) { return std::clamp<Index>(key, 0, keys); };
    const int one = generator.integer(0, keys), other = generator.integer(0, keys);
    const KeyRange choices[kinds] = {
        {0, clamped(i + offset)},                            // a triangle
        {0, clamped(queries - i + offset)},                  // that descends
        {clamped(i + offset - width), clamped(i + offset)},  // a window, ragged at both ends
        {std::min(one, other), std::max(one, other)},        // anything
        {i % 3 == 0 ? one : 0, i % 3 == 0 ? one : keys},     // all or nothing, empty anywhere
        {i < queries / 2 ? 0 : keys / 2, i < queries / 2 ? keys / 2 : keys},  // steps
    };
    seen.push_back(choices[kind]);
    EXPECT_LE(seen.back().first, seen.back().last);
  }
  return seen;
}

struct Drawn {
  int kind, queries, keys;
  std::vector<KeyRange> seen;
  QKV x;
};

/// Calls `look` with ranges of all kinds, for lengths on both sides of a tile's.
template <class Look>
void in_many_blocks(std::uint64_t seed, int blocks_a_kind, Look look, int head_dim_step = 1) {
  InputGenerator generator(seed);
  for (int draw = 0; draw < blocks_a_kind * kinds; ++draw) {
    const int longest = one_of(generator, {3, 70, 300});
    Drawn drawn{draw % kinds, generator.integer(0, longest), generator.integer(0, longest), {}, {}};
    drawn.seen = drawn_ranges(generator, drawn.kind, drawn.queries, drawn.keys);
    const Index heads = generator.integer(1, 3), head_dim = head_dim_step * generator.integer(1, 9);
    drawn.x = random_qkv(generator, heads, drawn.queries, drawn.keys, head_dim);
    SCOPED_TRACE("kind " + std::to_string(drawn.kind) + ", " + std::to_string(drawn.queries) + " queries, " +
                 std::to_string(drawn.keys) + " keys, draw " + std::to_string(draw));
    look(drawn, generator);
  }
}

TEST(MaskedBlocks, HaveEachPairInOneTile) {
  in_many_blocks(1, 200, [](const Drawn& drawn, InputGenerator&) {
    std::vector<int> times(drawn.queries * drawn.keys);
    for (const masked::Tile& tile : masked::tiles(drawn.seen, drawn.keys)) {
      ASSERT_TRUE(tile.whole || tile.queries <= masked::ragged_queries);
      for (Index i = tile.first_query; i < tile.first_query + tile.queries; ++i) {
        for (Index j = tile.first_key; j < tile.first_key + tile.keys; ++j) {
          const bool sees = drawn.seen[i].first <= j && j < drawn.seen[i].last;
          ASSERT_TRUE(sees || !tile.whole) << "query " << i << ", key " << j;
          if (sees) ++times[i * drawn.keys + j];
        }
      }
    }
    for (int i = 0; i < drawn.queries; ++i) {
      for (int j = 0; j < drawn.keys; ++j)
        ASSERT_EQ(times[i * drawn.keys + j], drawn.seen[i].first <= j && j < drawn.seen[i].last)
            << "query " << i << ", key " << j;
    }
  });
}

TEST(MaskedBlocks, WasteLessThanATilesHeightOnATriangle) {
  constexpr Index tokens = 2048;
  std::vector<KeyRange> seen;
  for (Index i = 0; i < tokens; ++i) seen.push_back({0, i + 1});
  Index computed = 0;
  for (const masked::Tile& tile : masked::tiles(seen, tokens)) computed += tile.queries * tile.keys;
  EXPECT_LE(computed, tokens * (tokens + masked::ragged_queries) / 2);
}

/// The plain computation is slow: of 1024 queries it has 3 % of the pairs.
TEST(MaskedBlocks, LeaveThePlainComputationTheDiagonalOfATriangle) {
  constexpr Index tokens = 1024;
  std::vector<KeyRange> seen;
  for (Index i = 0; i < tokens; ++i) seen.push_back({0, i + 1});
  Index plain_pairs = 0;
  for (const masked::Tile& tile : masked::tiles(seen, tokens)) {
    if (tile.whole) continue;
    for (Index i = tile.first_query; i < tile.first_query + tile.queries; ++i)
      plain_pairs += std::min(i + 1, tile.first_key + tile.keys) - tile.first_key;
  }
  EXPECT_EQ(plain_pairs, tokens / 32 * (32 * 33 / 2));
}

TEST(MaskedBlocks, LeaveOutQueriesThatSeeNothing) {
  std::vector<KeyRange> seen;
  for (Index i = 0; i < 100; ++i) seen.push_back({(7 * i) % 101, (7 * i) % 101});
  EXPECT_TRUE(masked::tiles(seen, 100).empty());
  // A zigzag ring's block of a later rank: the second half of the queries sees all of it.
  for (std::size_t i = 50; i < 100; ++i) seen[i] = {0, 100};
  const std::vector<masked::Tile> later = masked::tiles(seen, 100);
  ASSERT_EQ(later.size(), 1);
  EXPECT_TRUE(later[0].whole && later[0].first_query == 50 && later[0].queries == 50 && later[0].keys == 100);
}

/// Which lesson's they are is not this test's business.
const LessonBlocks lesson_blocks = plain::blocks;

/// These, and, where that is built, lesson 20's, which know masks themselves, and take head_dims that 4
/// divides.
struct Tried {
  LessonBlocks blocks;
  int step;  ///< of head_dim
};
std::vector<Tried> all_tried() {
  std::vector<Tried> all{{lesson_blocks, 1}};
#ifdef LESSON20
  all.push_back({Library::at(LESSON20).blocks(), 4});
  EXPECT_TRUE(all.back().blocks.forward_knows_masks && all.back().blocks.backward_knows_masks);
#endif
  return all;
}

void expect_near(const Tensor& answer, const Tensor& expected) {
  for (Index i = 0; i < expected.size(); ++i) {
    if (answer[i] == expected[i]) continue;  // infinite ones, too
    ASSERT_NEAR(answer[i], expected[i], 2e-4f) << "entry " << i;
  }
}

void expect_plain_attention(const Tried& tried) {
  const auto look = [&](const Drawn& drawn, InputGenerator& generator) {
    const QKV& x = drawn.x;
    const Index heads = x.q.extent(0), queries = drawn.queries, head_dim = x.q.extent(2);
    const QKV before = random_qkv(generator, heads, queries, 2, head_dim);
    Tensor all_o[2] = {Tensor(x.q.shape()), Tensor(x.q.shape())};
    Tensor all_lse[2] = {Tensor({heads, queries}), Tensor({heads, queries})};
    for (const bool tiled : {false, true}) {
      AttentionState state(heads, queries, head_dim);
      std::vector<KeyRange> some(queries);  // every other query has seen something before
      for (int i = 0; i < queries; ++i) some[i] = {0, i % 2};
      plain::accumulate(request_of(x.q, before.k, before.v, some), state);
      if (tiled) {
        masked::accumulate(tried.blocks, request_of(x.q, x.k, x.v, drawn.seen), state);
      } else {
        plain::accumulate(request_of(x.q, x.k, x.v, drawn.seen), state);
      }
      plain::finish(state, all_o[tiled].heads(), all_lse[tiled].matrix());
    }
    expect_near(all_o[1], all_o[0]);
    expect_near(all_lse[1], all_lse[0]);
  };
  in_many_blocks(2, 16, look, tried.step);
}

TEST(MaskedBlocks, AttendAsThePlainOnesDo) {
  for (const Tried& tried : all_tried()) expect_plain_attention(tried);
}

void expect_plain_gradients(const Tried& tried) {
  const auto look = [&](const Drawn& drawn, InputGenerator& generator) {
    const QKV& x = drawn.x;
    const Index heads = x.q.extent(0), queries = drawn.queries;
    const Tensor d_o = generator.normal(x.q.shape()), delta = generator.normal({heads, queries});
    AttentionState state(heads, queries, x.q.extent(2));
    plain::accumulate(request_of(x.q, x.k, x.v, drawn.seen), state);
    Tensor o(x.q.shape()), lse({heads, queries});
    plain::finish(state, o.heads(), lse.matrix());
    // A query may have seen no key of any block, though it may look at this one: it takes no part.
    if (queries > 0) lse[queries / 2] = -std::numeric_limits<float>::infinity();
    const Tensor start_q = generator.normal(x.q.shape()), start_k = generator.normal(x.k.shape());
    Tensor dq[2] = {start_q, start_q}, dk[2] = {start_k, start_k}, dv[2] = {start_k, start_k};
    const BlockRequest request = request_of(x.q, x.k, x.v, drawn.seen);
    plain::accumulate_backward(request, d_o.heads(), lse.matrix(), delta.matrix(), dq[0].heads(),
                               dk[0].heads(), dv[0].heads());
    masked::accumulate_backward(tried.blocks, request, d_o.heads(), lse.matrix(), delta.matrix(),
                                dq[1].heads(), dk[1].heads(), dv[1].heads());
    expect_near(dq[1], dq[0]);
    expect_near(dk[1], dk[0]);
    expect_near(dv[1], dv[0]);
  };
  in_many_blocks(3, 16, look, tried.step);
}

TEST(MaskedBlocks, HaveThePlainOnesGradients) {
  for (const Tried& tried : all_tried()) expect_plain_gradients(tried);
}

TEST(MaskedBlocks, CallBetweenTiles) {
  const Tensor q({2, 40, 3}), k({1, 70, 3});
  AttentionState state(2, 40, 3);
  const std::vector<KeyRange> seen(40, {3, 70});
  int calls = 0;
  BlockRequest request = request_of(q, k, k, seen);
  request.between_tiles = [&] { ++calls; };
  masked::accumulate(lesson_blocks, request, state);
  EXPECT_GE(calls, 2);
}

TEST(MaskedBlocks, RefuseAStateOfAnotherWidth) {
  const Tensor q({1, 2, 3}), k({1, 4, 3});
  AttentionState wider(1, 2, 4);
  EXPECT_TRUE(mentions(complaint_of<std::invalid_argument>([&] {
                         masked::accumulate(lesson_blocks, request_of(q, k, k, {{0, 4}, {0, 2}}), wider);
                       }),
                       "a state [1, 2, 4]"));
}

TEST(MaskedBlocks, NameTheQueryWhoseRangeIsWrong) {
  const Tensor q({1, 2, 3}), k({1, 4, 3});
  AttentionState state(1, 2, 3);
  const std::vector<KeyRange> seen{{0, 4}, {3, 5}};
  EXPECT_TRUE(mentions(complaint_of<std::invalid_argument>(
                           [&] { masked::accumulate(lesson_blocks, request_of(q, k, k, seen), state); }),
                       "keys 3 to before 5 for query 1"));
}

}  // namespace
}  // namespace course
