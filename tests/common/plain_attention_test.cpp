#include "player/plain_attention.hpp"

#include <gtest/gtest.h>

#include "complaint.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/input_generator.hpp"
#include "reference/reference.hpp"

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
    plain::accumulate_seen(drawn.x.q.heads(), k.heads(), v.heads(), seen_by_block[block], state);
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
    plain::accumulate_seen(drawn.x.q.heads(), drawn.x.k.heads(), drawn.x.v.heads(), seen_in_all, *state);
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
    plain::accumulate_backward_seen(drawn.x.q.heads(), k.heads(), v.heads(), drawn.d_o.heads(), lse.matrix(),
                                    delta.matrix(), seen_by_block[block], dq.heads(), dk.heads(), dv.heads());
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

/// What is said of these ranges of two queries against a block of four keys.
std::string complaint(const std::vector<KeyRange>& seen) {
  const Tensor q({1, 2, 3}), k({1, 4, 3});
  AttentionState state(1, 2, 3);
  return complaint_of<std::invalid_argument>(
      [&] { plain::accumulate_seen(q.heads(), k.heads(), k.heads(), seen, state); });
}

TEST(PlainAttention, NamesTheQueryWhoseRangeIsWrong) {
  const std::string expected = "; 0 <= first <= last <= 4 is expected, the number of keys of the block";
  const std::string given = "block.accumulate was given ";
  EXPECT_EQ(complaint({{0, 4}, {4, 4}}), "nothing was thrown");
  EXPECT_EQ(complaint({{0, 4}, {3, 1}}), given + "keys 3 to before 1 for query 1" + expected);
  EXPECT_EQ(complaint({{0, 5}, {0, 0}}), given + "keys 0 to before 5 for query 0" + expected);
  EXPECT_EQ(complaint({{-1, 0}, {0, 0}}), given + "keys -1 to before 0 for query 0" + expected);
  EXPECT_EQ(complaint({{0, 1}}), given + "1 ranges of keys for q [1, 2, 3]; one a query is expected");
}

}  // namespace
}  // namespace course
