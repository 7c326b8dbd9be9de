#include "player/gradient_rooms.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace course {

namespace {

/// Memory for dK and dV of up to four tokens, two heads of dimension 3.
class Rooms : public testing::Test {
 protected:
  HeadsView<float> dk(Index tokens) { return {dk_.data(), 2, tokens, 3}; }
  HeadsView<float> dv(Index tokens) { return {dv_.data(), 2, tokens, 3}; }

  static void fill(HeadsView<float> x, float from) { std::iota(x.data(), x.data() + x.size(), from); }
  static void clear(HeadsView<float> x) { std::fill_n(x.data(), x.size(), 0.0f); }

  /// Rank `owner`'s block is computed into what is 0.
  void compute(int owner, Index tokens) {
    clear(dk(tokens));
    clear(dv(tokens));
    EXPECT_EQ(look(owner, tokens), "nothing");
    fill(dk(tokens), 1);
    fill(dv(tokens), 101);
    rooms_.leave(owner, dk(tokens), dv(tokens));
  }

  std::string look(int owner, Index tokens) {
    const block_log::Leftover left = rooms_.look(owner, dk(tokens), dv(tokens));
    if (left.tensor < 0) return "nothing";
    return (left.tensor == 0 ? "dk " : "dv ") + to_string({left.head, left.row, left.col}) + " of " +
           std::to_string(left.owner);
  }

  GradientRooms rooms_;

 private:
  std::vector<float> dk_ = std::vector<float>(24), dv_ = std::vector<float>(24);
};

TEST_F(Rooms, FindsWhatAnotherBlockLeft) {
  compute(2, 4);
  EXPECT_EQ(look(1, 4), "dk [0, 0, 0] of 2");
  clear(dk(4));
  EXPECT_EQ(look(1, 4), "dv [0, 0, 0] of 2");
  EXPECT_EQ(look(2, 4), "nothing") << "the same block, in two calls";
}

TEST_F(Rooms, FindsWhatWasNotClearedBehindWhatWas) {
  compute(2, 4);
  fill(dk(4), 50);  // what arrived was added
  fill(dv(4), 60);
  EXPECT_EQ(look(1, 4), "nothing") << "a sum that has arrived";
  clear(dk(1));
  EXPECT_EQ(look(1, 4), "dk [0, 2, 0] of 2");
  EXPECT_EQ(look(1, 1), "nothing");
  clear(dk(4));
  clear(dv(3));
  EXPECT_EQ(look(1, 4), "dv [1, 2, 0] of 2");
}

TEST_F(Rooms, KnowsTheLastBlockOfEachPlace) {
  compute(2, 4);
  compute(1, 2);
  EXPECT_EQ(look(0, 4), "dk [0, 0, 0] of 1");
  clear(dk(2));
  EXPECT_EQ(look(0, 4), "dk [1, 0, 0] of 2");
}

TEST_F(Rooms, KnowsNothingOfMemoryThatNoBlockWasComputedIn) {
  fill(dk(4), 1);
  EXPECT_EQ(look(0, 4), "nothing");
}

}  // namespace

}  // namespace course
