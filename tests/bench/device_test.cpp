#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "../demo/running.hpp"
#include "bench/device/reference.hpp"
#include "bench/device/shared_passes.hpp"
#include "bench/device/timings.hpp"

namespace course::bench::device {

namespace {

TEST(SharedPasses, AreThoseCountedByHand) {
  EXPECT_EQ(forward_clocks(32, 128).shared_memory, 8 * 40 + 8 * 40);
  EXPECT_EQ(forward_clocks(64, 128).shared_memory, 16 * 40 + 8 * 48);
  EXPECT_EQ(forward_clocks(128, 128).shared_memory, 32 * 40 + 8 * 64);
  EXPECT_EQ(forward_clocks(128, 128).useful, 1024);
  EXPECT_EQ(backward_clocks(32, 128).shared_memory, 2 * 8 * 48 + 32 * (12 + 6));
  EXPECT_EQ(backward_clocks(64, 128).shared_memory, 2 * 16 * 48 + 32 * (16 + 8));
  EXPECT_EQ(backward_clocks(128, 128).shared_memory, 2 * 32 * 48 + 32 * (24 + 12));
}

TEST(SharedPasses, AllowAShareOfTheMultiplyAdds) {
  const auto percent = [](const WarpClocks& clocks) { return std::lround(100 * clocks.share()); };
  EXPECT_EQ(percent(forward_clocks(32, 128)), 40);
  EXPECT_EQ(percent(forward_clocks(64, 128)), 50);
  EXPECT_EQ(percent(forward_clocks(128, 128)), 57);
  EXPECT_EQ(percent(backward_clocks(32, 128)), 24);
  EXPECT_EQ(percent(backward_clocks(64, 128)), 28);
  EXPECT_EQ(percent(backward_clocks(128, 128)), 30);
  EXPECT_EQ(percent(forward_clocks(128, 64)), 100) << "no more than all";
  EXPECT_EQ(multiply_adds_a_clock(8, 0), 64);
  EXPECT_EQ(multiply_adds_a_clock(8, 6), 128);
  EXPECT_EQ(multiply_adds_a_clock(9, 0), 128);
}

/// Two tokens, one column; scores are 0 but for that of query 1 and key 1, which is log 3.
Reference two_tokens() {
  const auto column = [](double first, double second) {
    return [=](int i, int) { return i == 0 ? first : second; };
  };
  return {2, 1, column(0, std::log(3)), column(0, 1), column(4, 8), column(1, 2)};
}

TEST(Reference, HasOutputs) {
  EXPECT_NEAR(two_tokens().o(0)[0], 6, 1e-12);
  EXPECT_NEAR(two_tokens().o(1)[0], 0.25 * 4 + 0.75 * 8, 1e-12);
}

TEST(Reference, HasGradients) {
  const Reference reference = two_tokens();
  // ds of query 1: p (d_o v - delta), delta = 2 * 7.
  const double ds = 0.75 * (16 - 14);
  EXPECT_NEAR(reference.dq(1)[0], ds, 1e-12);
  const float lse[] = {std::log(2.0f), std::log(4.0f)}, delta[] = {6, 14};
  const Reference::KeyGradients of_key = reference.of_key(1, lse, delta);
  EXPECT_NEAR(of_key.dv[0], 0.5 * 1 + 0.75 * 2, 1e-6);
  EXPECT_NEAR(of_key.dk[0], ds * std::log(3), 1e-6);
}

TEST(Timings, LeaveWhatTheyHaveAfterEachRow) {
  const TestFolder folder;
  Timings timings(folder / "rows.json", {{"device", "none"}}, true);
  timings.add({.name = "copy", .unit = "GB/s"}, 10);
  std::stringstream first;
  first << std::ifstream(folder / "rows.json").rdbuf();
  EXPECT_EQ(rows_in(first.str()).size(), 1u);
  timings.add({.name = "softmax", .against = "copy", .unit = "GB/s"}, 5);
  std::stringstream both;
  both << std::ifstream(folder / "rows.json").rdbuf();
  ASSERT_EQ(rows_in(both.str()).size(), 2u);
  EXPECT_EQ(rows_in(both.str())[1].ratio, 0.5);
  EXPECT_EQ(rows_in(both.str())[1].unit, "GB/s (simulated, not measured)");
}

TEST(Timings, RefuseWrongAnswers) {
  EXPECT_NO_THROW(require_right("softmax", 1e-6));
  EXPECT_THROW(require_right("softmax", 0.01), std::runtime_error);
  EXPECT_THROW(require_right("softmax", NAN), std::runtime_error);
}

}  // namespace

}  // namespace course::bench::device
