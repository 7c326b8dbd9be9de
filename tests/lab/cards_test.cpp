#include "lab/cards.hpp"

#include <gtest/gtest.h>

namespace course::lab {

namespace {

/// An outer hop takes 3 s.
CardsProblem problem(int cards = 2) {
  return {.ranks = 4,
          .cards = cards,
          .bytes_per_s = 1024,
          .tokens = 3,
          .heads = 8,
          .kv_heads = 2,
          .head_dim = 64};
}

TEST(Cards, CountBytes) {
  EXPECT_DOUBLE_EQ(block_bytes(problem()), 2 * 3 * 2 * 64 * 4);
  EXPECT_DOUBLE_EQ(outer_hop_s(problem()), 3);
  // q, k, v there and o back, half of each, and lse.
  EXPECT_DOUBLE_EQ(exchange_bytes(problem(), 2), 4.0 * (2 * (8 + 2) * 3 * 64 / 2 + 3 * 4));
  EXPECT_DOUBLE_EQ(exchange_bytes(problem(), 1), 0);
}

TEST(Cards, DeriveEveryWay) {
  const double exchange = exchange_bytes(problem(), 2) / block_bytes(problem());  // in hops
  const auto expect = [](const Derived& found, double transfers, double hidden, double in_turns) {
    EXPECT_NEAR(found.transfers_s, transfers, 1e-9);
    EXPECT_NEAR(found.hidden_s, hidden, 1e-9);
    EXPECT_NEAR(found.in_turns_s, in_turns, 1e-9);
  };
  // Work 1, an outer hop 3, an inner hop 0.25.
  expect(derive(CardsWay::Ring, problem(), 1, 0.25), 9, 10, 13);
  expect(derive(CardsWay::DoubleRing, problem(), 1, 0.25), 3.25, 5, 7.5);
  expect(derive(CardsWay::Grid, problem(), 1, 0.25), 0.25 * exchange + 3, 0.25 * exchange + 5,
         0.25 * exchange + 7);
  expect(derive(CardsWay::SwappedGrid, problem(), 1, 0.25), 3 * exchange + 0.25, 3 * exchange + 4,
         3 * exchange + 4.25);
  // One card for the host: both of its ranks' blocks go through it.
  expect(derive(CardsWay::Ring, problem(1), 1, 0.25), 9, 10, 13);
  expect(derive(CardsWay::DoubleRing, problem(1), 1, 0.25), 6.25, 8, 10.5);
  EXPECT_NEAR(derive(CardsWay::SwappedGrid, problem(1), 1, 0).transfers_s, 6 * exchange, 1e-9);
}

TEST(Cards, AreEnoughForEveryRank) {
  CardsProblem three = problem();
  three.ranks = 6;  // two of three ranks share a card
  EXPECT_NEAR(derive(CardsWay::DoubleRing, three, 0, 0).transfers_s, 6, 1e-9);
}

CardsMeasured measured(double ring, double double_ring, double grid, double swapped) {
  CardsMeasured all{
      .problem = problem(), .work_s = 1, .inner_s = 0.25, .transfers_s = {9, 3.2, 3.6, 8}, .with_work = {}};
  for (const double seconds : {ring, double_ring, grid, swapped})
    all.with_work.push_back({"", seconds, 3, {}});
  return all;
}

TEST(Cards, AreHeldAgainstTheDerivedOrder) {
  const std::vector<CardsOrder> good = orders(measured(12, 6, 6.5, 11.5));
  ASSERT_EQ(good.size(), 4u) << "the double ring and the grid before the ring and the swapped grid";
  for (const CardsOrder& order : good) {
    EXPECT_TRUE(order.met()) << name_of(order.faster, 4) << " before " << name_of(order.slower, 4);
    EXPECT_GE(order.derived_least, 1.25);
    EXPECT_LE(order.derived_least, order.derived_most);
  }
  EXPECT_EQ(good[0].faster, CardsWay::DoubleRing);
  EXPECT_EQ(good[0].slower, CardsWay::Ring);
  EXPECT_NEAR(good[0].measured, 2, 1e-9);
  EXPECT_FALSE(orders(measured(5, 6, 6.5, 11.5))[0].met());
}

TEST(Cards, AreTold) {
  CardsLaboratory laboratory;
  laboratory.grids = {.lesson = "18", .subject = "solution", .target = "", .library = {}};
  laboratory.block = {.lesson = "04", .subject = "student", .target = "", .library = {}};
  laboratory.link = "two cables";
  CardsMeasured all = measured(12, 6, 6.5, 11.5);
  for (timed::Call& call : all.with_work) call.ranks.resize(4);
  const std::string text = cards_text(laboratory, all, {});
  for (const char* part :
       {"two cables", "lesson 18, the solution", "lesson 04, your own code", "grid 2 x 2", "swapped", "met"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  EXPECT_EQ(text.find("MISSED"), std::string::npos) << text;
}

}  // namespace

}  // namespace course::lab
