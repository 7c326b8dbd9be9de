#pragma once

#include <string>
#include <vector>

#include "judge/task.hpp"

namespace course {

/// A number that a wrong answer may be off by, and what it is.
struct KnownFactor {
  std::string words;  ///< "the number of ranks"; empty where the number says it all, as 2 does
  double value;       ///< NaN where the example has no such number
};

/// 2, log 2 and their like, and what the example's ranks and its head_dim make: the same ones of every
/// example, in the same order.
std::vector<KnownFactor> known_factors(const Example& example);

/// A factor farther from a known one, as a part of it, is another.
inline constexpr double most_room_of_known = 1e-3;

/// Whether a factor is the known one, up to `room` of it and no more than most_room_of_known.
bool is_known_as(const KnownFactor& known, double factor, double room = most_room_of_known);

/// "log 2", "the number of ranks, or sqrt(head_dim)": what a factor may be. Empty where none of the known
/// ones is it, and where one without words is.
std::string factor_words(const std::vector<KnownFactor>& known, double factor, double room);

}  // namespace course
