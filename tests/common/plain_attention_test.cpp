#include "player/plain_attention.hpp"

#include <gtest/gtest.h>

#include "complaint.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/input_generator.hpp"
#include "reference/reference.hpp"
#include "requests.hpp"

namespace course {
namespace {

/// Five queries against two blocks of four keys. Queries 0 and 3 see nothing of the first block, and query 3
/// nothing at all.
const std::vector<std::vector<KeyRange>> seen_by_block = {{{0, 0}, {0, 4}, {1, 3}, {4, 4}, {2, 4}},
                                                          {{1, 4}, {0, 0}, {4, 4}, {2, 2}, {0, 1}}};
const std::vector<KeyRange> seen_in_all = {{5, 8}, {0, 4}, {1, 3}, {0, 0}, {2, 5}};

struct Drawn {
  InputGenerator generator{7};
  QKV x = random_qkv(generator, 2, 5, 8, 3);
  Tensor d_o = generator.normal({2, 5, 3});
  reference::Mask mask = reference::Mask::ranges(seen_in_all);
  reference::Attention<double> right =
      reference::attention(cast<double>(x.q), cast<double>(x.k), cast<double>(x.v), mask);
};

TEST(PlainAttention, SeesRangesOfKeysFromAnEmptyState) {
  Drawn drawn;
  AttentionState state(2, 5, 3);
  for (const int block : {0, 1}) {
    const Tensor k = slice(drawn.x.k, 1, 4 * block, 4), v = slice(drawn.x.v, 1, 4 * block, 4);
    plain::accumulate(request_of(drawn.x.q, k, v, seen_by_block[block]), state);
  }
  Tensor o(drawn.x.q.shape()), lse({2, 5});
  plain::finish(state, o.heads(), lse.matrix());
  EXPECT_LT(relative_error(cast<double>(o), drawn.right.o), 1e-6);
  EXPECT_LT(relative_error(cast<double>(lse), drawn.right.lse), 1e-6);
  EXPECT_EQ(lse.matrix()(1, 3), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(o.heads()(1, 3, 2), 0.0f);
}

/// With l = 0 every m says the same: nothing was seen.
TEST(PlainAttention, TakesAnyMaximumOfAStateThatHasSeenNothing) {
  Drawn drawn;
  AttentionState fresh(2, 5, 3), zeros(2, 5, 3);
  for (Index head = 0; head < 2; ++head) std::ranges::fill(zeros.m().row(head), 0.0f);
  for (AttentionState* state : {&fresh, &zeros})
    plain::accumulate(request_of(drawn.x.q, drawn.x.k, drawn.x.v, seen_in_all), *state);
  Tensor expected(drawn.x.q.shape()), expected_lse({2, 5}), o(drawn.x.q.shape()), lse({2, 5});
  plain::finish(fresh, expected.heads(), expected_lse.matrix());
  plain::finish(zeros, o.heads(), lse.matrix());
  EXPECT_TRUE(std::ranges::equal(o.values(), expected.values()));
  EXPECT_TRUE(std::ranges::equal(lse.values(), expected_lse.values()));
}

TEST(PlainAttention, HasFiniteGradientsUnderRangesOfKeys) {
  Drawn drawn;
  const Tensor lse = cast<float>(drawn.right.lse);
  Tensor delta({2, 5}), dq(drawn.x.q.shape());
  for (Index row = 0; row < delta.size(); ++row) {
    for (Index c = 0; c < 3; ++c)
      delta[row] += static_cast<float>(drawn.right.o[row * 3 + c]) * drawn.d_o[row * 3 + c];
  }
  std::vector<Tensor> all_dk, all_dv;
  for (const int block : {0, 1}) {
    const Tensor k = slice(drawn.x.k, 1, 4 * block, 4), v = slice(drawn.x.v, 1, 4 * block, 4);
    Tensor dk(k.shape()), dv(k.shape());
    plain::accumulate_backward(request_of(drawn.x.q, k, v, seen_by_block[block]), drawn.d_o.heads(),
                               lse.matrix(), delta.matrix(), dq.heads(), dk.heads(), dv.heads());
    all_dk.push_back(dk);
    all_dv.push_back(dv);
  }
  const auto right =
      reference::attention_gradients(cast<double>(drawn.x.q), cast<double>(drawn.x.k),
                                     cast<double>(drawn.x.v), cast<double>(drawn.d_o), drawn.mask);
  EXPECT_LT(relative_error(cast<double>(dq), right.dq), 1e-5);
  EXPECT_LT(relative_error(cast<double>(concatenate(all_dk, 1)), right.dk), 1e-5);
  EXPECT_LT(relative_error(cast<double>(concatenate(all_dv, 1)), right.dv), 1e-5);
}

/// Heads of k and v repeated for every query head that looks at them.
Tensor repeated(const Tensor& x, Index heads) {
  std::vector<Index> which(heads);
  for (Index head = 0; head < heads; ++head) which[head] = head / (heads / x.extent(0));
  return take(x, 0, which);
}

/// Six query heads look at two heads of keys; values have a width of their own, and are the first columns of
/// the keys; the scale is no head's; a bias grows with the distance.
struct Shared {
  InputGenerator generator{8};
  Tensor q = generator.normal({6, 5, 4}), k = generator.normal({2, 7, 4});
  Tensor d_o = generator.normal({6, 5, 3});
  std::vector<float> slopes{0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
  std::vector<Index> query_positions{3, 4, 9, 11, 12}, key_positions{0, 1, 2, 5, 9, 10, 20};
  PositionBias bias{slopes, query_positions, key_positions};
  BlockRequest request{q.heads(), k.heads(), k.heads().first_columns(3), 0, 0.7f, {}, &bias};

  double score(Index head, Index i, Index j) const {
    double sum = 0;
    for (Index c = 0; c < 4; ++c) sum += double{q.heads()(head, i, c)} * k.heads()(head / 3, j, c);
    return 0.7 * sum - slopes[head] * std::abs(double(query_positions[i] - key_positions[j]));
  }
};

TEST(PlainAttention, SharesHeadsScalesAndAddsABiasAsTheDefinitionHasIt) {
  const Shared x;
  AttentionState state(6, 5, 3);
  plain::accumulate(x.request, state);
  Tensor o({6, 5, 3}), lse({6, 5});
  plain::finish(state, o.heads(), lse.matrix());
  Tensor delta({6, 5}), dq(x.q.shape()), dk(x.k.shape()), dv({2, 7, 3});
  for (Index i = 0; i < o.size(); ++i) delta[i / 3] += o[i] * x.d_o[i];
  plain::accumulate_backward(x.request, x.d_o.heads(), lse.matrix(), delta.matrix(), dq.heads(), dk.heads(),
                             dv.heads());
  Tensor64 right_o({6, 5, 3}), right_dv({2, 7, 3}), right_dk({2, 7, 4});
  for (Index head = 0; head < 6; ++head) {
    for (Index i = 0; i < 5; ++i) {
      double sum = 0;
      for (Index j = 0; j < 7; ++j) sum += std::exp(x.score(head, i, j));
      EXPECT_NEAR(lse.matrix()(head, i), std::log(sum), 1e-5);
      for (Index j = 0; j < 7; ++j) {
        const double weight = std::exp(x.score(head, i, j)) / sum;
        double dp = 0;
        for (Index c = 0; c < 3; ++c) {
          right_o.heads()(head, i, c) += weight * x.k.heads()(head / 3, j, c);
          right_dv.heads()(head / 3, j, c) += weight * x.d_o.heads()(head, i, c);
          dp += double{x.d_o.heads()(head, i, c)} * x.k.heads()(head / 3, j, c);
        }
        for (Index c = 0; c < 4; ++c)
          right_dk.heads()(head / 3, j, c) +=
              0.7 * weight * (dp - delta.matrix()(head, i)) * x.q.heads()(head, i, c);
      }
    }
  }
  EXPECT_LT(relative_error(cast<double>(o), right_o), 1e-6);
  EXPECT_LT(relative_error(cast<double>(dv), right_dv), 1e-5);
  EXPECT_LT(relative_error(cast<double>(dk), right_dk), 1e-5);
}

/// The same as with every head of keys copied for its query heads, whose gradients are then added.
TEST(PlainAttention, GivesASharedHeadTheGradientsOfAllThatLookAtIt) {
  InputGenerator generator(9);
  const QKV x = random_qkv(generator, 6, 5, 7, 3);
  const Tensor k = generator.normal({2, 7, 3}), v = generator.normal({2, 7, 3}),
               d_o = generator.normal({6, 5, 3});
  const Tensor all_k = repeated(k, 6), all_v = repeated(v, 6);
  const auto right = reference::attention_gradients(cast<double>(x.q), cast<double>(all_k),
                                                    cast<double>(all_v), cast<double>(d_o));
  const auto forward = reference::attention(cast<double>(x.q), cast<double>(all_k), cast<double>(all_v));
  const Tensor lse = cast<float>(forward.lse);
  Tensor delta({6, 5}), dq(x.q.shape()), dk(k.shape()), dv(v.shape());
  for (Index i = 0; i < d_o.size(); ++i) delta[i / 3] += static_cast<float>(forward.o[i]) * d_o[i];
  plain::accumulate_backward(request_of(x.q, k, v), d_o.heads(), lse.matrix(), delta.matrix(), dq.heads(),
                             dk.heads(), dv.heads());
  Tensor64 right_dk({2, 7, 3}), right_dv({2, 7, 3});
  for (Index i = 0; i < right.dk.size(); ++i) {
    right_dk[i / 63 * 21 + i % 21] += right.dk[i];
    right_dv[i / 63 * 21 + i % 21] += right.dv[i];
  }
  EXPECT_LT(relative_error(cast<double>(dq), right.dq), 1e-5);
  EXPECT_LT(relative_error(cast<double>(dk), right_dk), 1e-5);
  EXPECT_LT(relative_error(cast<double>(dv), right_dv), 1e-5);
}

TEST(PlainAttention, NamesTheShapesThatDoNotFit) {
  const Tensor q({3, 2, 4}), k({2, 5, 4}), v({2, 5, 3});
  AttentionState state(3, 2, 3);
  const std::string said =
      complaint_of<std::invalid_argument>([&] { plain::accumulate(request_of(q, k, v), state); });
  EXPECT_TRUE(mentions(said, "q [3, 2, 4], k [2, 5, 4] and v [2, 5, 3]")) << said;
  const Tensor fitting({4, 2, 4});
  AttentionState too_wide(4, 2, 4);
  EXPECT_TRUE(mentions(
      complaint_of<std::invalid_argument>([&] { plain::accumulate(request_of(fitting, k, v), too_wide); }),
      "a state [4, 2, 4] for q [4, 2, 4] and v [2, 5, 3]"));
}

/// What is said of these ranges of two queries against a block of four keys.
std::string complaint(const std::vector<KeyRange>& seen) {
  const Tensor q({1, 2, 3}), k({1, 4, 3});
  AttentionState state(1, 2, 3);
  return complaint_of<std::invalid_argument>([&] { plain::accumulate(request_of(q, k, k, seen), state); });
}

TEST(PlainAttention, NamesTheQueryWhoseRangeIsWrong) {
  const std::string expected = "; 0 <= first <= last <= 4 is expected, the number of keys of the block";
  const std::string given = "block.accumulate was given ";
  EXPECT_EQ(complaint({{0, 4}, {4, 4}}), "nothing was thrown");
  EXPECT_EQ(complaint({{0, 4}, {3, 1}}), given + "keys 3 to before 1 for query 1" + expected);
  EXPECT_EQ(complaint({{0, 5}, {0, 0}}), given + "keys 0 to before 5 for query 0" + expected);
  EXPECT_EQ(complaint({{-1, 0}, {0, 0}}), given + "keys -1 to before 0 for query 0" + expected);
  EXPECT_EQ(complaint({{0, 1}}), given + "1 ranges of keys for q [1, 2, 3]; one a query is expected");
  const Tensor q({1, 2, 3}), k({1, 4, 3});
  try {
    plain::require_ranges(std::vector<KeyRange>{{0, 1}}, q.heads(), k.heads());
  } catch (const TellsFact& telling) {
    EXPECT_EQ(telling.fact().kind, fact_ranges_of_other_queries);
  }
}

}  // namespace
}  // namespace course
