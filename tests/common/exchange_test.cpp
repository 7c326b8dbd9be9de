#include <gtest/gtest.h>

#include "judge/attention/exchange/examples.hpp"
#include "judge/attention/exchange/traffic.hpp"

namespace course::exchange {

namespace {

/// Ranks 0 to 2 and 3 to 5 exchange among themselves; 5 query heads share one key head.
Example grid_of_two_rows() {
  InputGenerator generator(17);
  return attention_example(generator, "a grid", Layout({1, 2, 3, 0, 1, 7}), {5, 1, 2, 2}, true,
                           Topology::grid(3));
}

TEST(SharesOfAGrid, AreDealtOutInEachRow) {
  const Example example = grid_of_two_rows();
  const Ranges queries = ranges_of(example, by_heads), keys = ranges_of(example, by_key_heads);
  EXPECT_EQ(queries.first, (std::vector<Index>{0, 2, 4, 0, 2, 4}));
  EXPECT_EQ(queries.last, (std::vector<Index>{2, 4, 5, 2, 4, 5}));
  EXPECT_EQ(keys.last, (std::vector<Index>{1, 1, 1, 1, 1, 1}));
}

TEST(TrafficOfAGrid, StaysInItsRow) {
  const Example example = grid_of_two_rows();
  // Its two tokens of another's query heads and one key head there; that one's tokens of its heads back.
  EXPECT_EQ(bytes(example, forward_exchanges(2), 1, 0), 4 * (2 * (2 + 1 + 1) * 2 + 1 * 2 * (2 + 1)));
  EXPECT_EQ(bytes(example, forward_exchanges(2), 1, 4), 0);
}

TEST(TrafficOfAGrid, MayBeAsLongAsTheLongestPartOfItsRow) {
  const checks::NeededBytes needed = padded_parts([](const Example&) {
    return std::vector<Exchange>{{by_heads, 2}};
  });
  const Example example = grid_of_two_rows();
  EXPECT_EQ(needed(example, 0, 2), 4 * 3 * 2 * 2);
  EXPECT_EQ(needed(example, 3, 4), 4 * 7 * 2 * 2);
  EXPECT_EQ(needed(example, 0, 3), 0);
}

TEST(MemoryOfAGrid, HoldsTheTokensOfTheRow) {
  EXPECT_EQ(bytes_held(grid_of_two_rows(), {{by_heads, 2}}, 2), 4 * 6 * 1 * 2);
}

}  // namespace

}  // namespace course::exchange
