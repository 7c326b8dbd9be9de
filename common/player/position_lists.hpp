#pragma once

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "player/adapter.hpp"

namespace course {

/// The positions of all ranks: those in the argument positions, shard_tokens[r] of them rank r's.
inline std::vector<std::vector<Index>> positions_by_rank(const Call& call) {
  const std::vector<int> all = call.integers("positions");
  std::vector<std::vector<Index>> by_rank;
  auto next = all.begin();
  for (const int tokens : call.integers("shard_tokens")) {
    by_rank.emplace_back(next, next + tokens);
    next += tokens;
  }
  return by_rank;
}

inline Index longest(const std::vector<std::vector<Index>>& lists) {
  std::size_t length = 0;
  for (const std::vector<Index>& list : lists) length = std::max(length, list.size());
  return static_cast<Index>(length);
}

/// Writes a list that `name` returned, and -1 behind its end. Throws std::length_error for a list that is
/// longer than the row.
template <class T>
void write_list(const char* name, const std::vector<T>& list, std::span<float> row) {
  if (list.size() > row.size()) {
    throw std::length_error(std::string(name) + " has " + std::to_string(list.size()) +
                            " entries, expected at most " + std::to_string(row.size()));
  }
  std::ranges::fill(row, -1.0f);
  std::ranges::transform(list, row.begin(), [](T entry) { return static_cast<float>(entry); });
}

}  // namespace course
