#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/laboratory.hpp"

/// Lesson 18 on two hosts with several cards each: a flat ring, whose blocks leave a host through one card,
/// and a double ring and a grid, which use all of them; and the grid with its groups swapped.
namespace course::lab {

/// Who computes what on which cables: half of the ranks on each host, every query sees all keys.
struct CardsProblem {
  int ranks = 4;                ///< even, 4 or more
  int cards = 2;                ///< of each host
  double bytes_per_s = 12.5e6;  ///< B, of a cable, each way
  Index tokens = 0;             ///< of a rank
  Index heads = 0, kv_heads = 0, head_dim = 64;

  int node() const { return ranks / 2; }
};

/// Bytes of K and V of a rank: what goes in one hop.
double block_bytes(const CardsProblem& problem);
/// Bytes that a rank sends in both exchanges of a grid whose groups have so many ranks. Source: lesson 17.
double exchange_bytes(const CardsProblem& problem, int group);
/// A block's way to the other host, in seconds, where nobody shares its cable.
double outer_hop_s(const CardsProblem& problem);

/// What lesson 18's formulas say of a way, in seconds.
struct Derived {
  double transfers_s = 0;  ///< without work
  double hidden_s = 0;     ///< where work goes on beside every hop: the least
  double in_turns_s = 0;   ///< where no hop goes on beside work: the most
};

/// The ways, in this order.
enum class CardsWay { Ring, DoubleRing, Grid, SwappedGrid };
inline constexpr CardsWay cards_ways[] = {CardsWay::Ring, CardsWay::DoubleRing, CardsWay::Grid,
                                          CardsWay::SwappedGrid};
std::string name_of(CardsWay way, int ranks);

/// @param work_s of one block, measured without a message
/// @param inner_s of one hop inside a host, measured without work
Derived derive(CardsWay way, const CardsProblem& problem, double work_s, double inner_s);

/// What was measured, in seconds.
struct CardsMeasured {
  CardsProblem problem;
  double work_s = 0, inner_s = 0;      ///< as derive() takes them
  std::vector<double> transfers_s;     ///< of each way, without work
  std::vector<timed::Call> with_work;  ///< of each way
};

/// Whether one way was faster than another, where lesson 18 says so.
struct CardsOrder {
  CardsWay faster, slower;
  double derived_least = 0,
         derived_most = 0;  ///< how many times: all hidden, and in turns, whichever is less
  double measured = 0;
  bool met() const { return measured > 1; }
};
/// Of all pairs of ways whose derived times differ by a quarter or more, in the same sense hidden and in
/// turns.
std::vector<CardsOrder> orders(const CardsMeasured& measured);

/// What the laboratory of cards runs.
struct CardsLaboratory {
  int ranks = 4, cards = 2;
  double bytes_per_s = 0;
  timed::Code block, grids;
  std::string link = {};                 ///< Network::description()
  std::vector<std::string> player = {};  ///< Network::player()
};

/// Chooses a problem whose outer hop takes a few times as long as a block, and plays all ways in turns,
/// with work and without. Throws as measure() of laboratory.hpp does.
CardsMeasured measure(const CardsLaboratory& laboratory, const Starter& starter, const Say& say);

std::string cards_text(const CardsLaboratory& laboratory, const CardsMeasured& measured,
                       const timed::Page& page);
std::string cards_json(const CardsLaboratory& laboratory, const CardsMeasured& measured,
                       const std::vector<std::filesystem::path>& files);
std::string cards_svg(const CardsMeasured& measured);

}  // namespace course::lab
