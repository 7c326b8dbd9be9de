#include "judge/numbers/known_factors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace course {

namespace {

constexpr double no_such_number = std::numeric_limits<double>::quiet_NaN();

/// Of one rank, or one column, nobody sees whether it was multiplied by that.
double unless_one(Index count) {
  return count > 1 ? static_cast<double>(count) : no_such_number;
}

double head_dim_of(const Example& example) {
  const auto k = example.inputs.find("k");
  return k == example.inputs.end() || k->second.rank() != 3 ? no_such_number
                                                            : unless_one(k->second.extent(2));
}

}  // namespace

std::vector<KnownFactor> known_factors(const Example& example) {
  const double ranks = unless_one(example.ranks()), head_dim = head_dim_of(example), log_2 = std::log(2.0);
  return {{"", 2},
          {"", 0.5},
          {"log 2", log_2},
          {"log 2 squared", log_2 * log_2},
          {"1 / log 2", 1 / log_2},
          {"the number of ranks", ranks},
          {"1 / the number of ranks", 1 / ranks},
          {"sqrt(head_dim)", std::sqrt(head_dim)},
          {"1 / sqrt(head_dim)", 1 / std::sqrt(head_dim)},
          {"head_dim", head_dim},
          {"1 / head_dim", 1 / head_dim}};
}

bool is_known_as(const KnownFactor& known, double factor, double room) {
  return std::abs(factor - known.value) <= std::min(room, most_room_of_known) * known.value;
}

std::string factor_words(const std::vector<KnownFactor>& known, double factor, double room) {
  std::vector<std::string> words;
  for (const KnownFactor& one : known) {
    if (!is_known_as(one, factor, room)) continue;
    if (one.words.empty()) return "";
    words.push_back(one.words);
  }
  return fmt::format("{}", fmt::join(words, ", or "));
}

}  // namespace course
