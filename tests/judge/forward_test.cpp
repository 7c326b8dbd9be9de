#include "judge/attention/forward.hpp"

#include <gtest/gtest.h>

namespace course {

namespace {

Example example_of(Tensor q, Tensor k) {
  return {"some input", {{"q", std::move(q)}, {"k", std::move(k)}}};
}

TEST(LargestScore, IsScaledAndOfEitherSign) {
  // One head, head_dim 4: q . k is 2 and -12, and the scale 1/2.
  const Tensor q({1, 1, 4}, {1, 0, 2, 0});
  const Tensor k({1, 2, 4}, {2, 5, 0, 5, 0, 5, -6, 5});
  EXPECT_DOUBLE_EQ(largest_score(example_of(q, k)), 6);
}

TEST(LargestScore, IsOfAllHeadsAndQueries) {
  const Tensor q({2, 2, 1}, {1, 1, 1, 7});
  const Tensor k({2, 1, 1}, {1, 3});
  EXPECT_DOUBLE_EQ(largest_score(example_of(q, k)), 21);
}

TEST(LargestScore, IsZeroWithoutKeys) {
  EXPECT_EQ(largest_score(example_of(Tensor({2, 3, 4}), Tensor({2, 0, 4}))), 0);
}

}  // namespace

}  // namespace course
