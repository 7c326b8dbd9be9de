#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "judge/numbers/wrong_entries.hpp"
#include "ring/shards.hpp"

namespace course {

namespace {

constexpr std::size_t most_listed = 4;
/// How often scattered entries may keep to a part by chance for that part to be told.
constexpr double rare = 1e-3;

bool is_run(const std::vector<Index>& ascending) {
  return ascending.back() - ascending.front() + 1 == std::ssize(ascending);
}

/// What can be told of the indices: themselves, or the range that they lie in.
std::vector<Index> told(const std::vector<Index>& ascending) {
  if (ascending.size() <= most_listed || is_run(ascending)) return ascending;
  std::vector<Index> range(ascending.back() - ascending.front() + 1);
  std::iota(range.begin(), range.end(), ascending.front());
  return range;
}

/// The logarithm of the number of ways to choose k of n.
double log_choices(Index n, Index k) {
  const auto log_factorial = [](Index x) { return std::lgamma(static_cast<double>(x) + 1); };
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

/// Whether so many entries of a tensor, drawn at random, would rarely all lie in some `part` of an axis'
/// indices: some run of that length, or some choice of that many.
bool is_telling(Index entries, Index size, const std::vector<Index>& part, Index extent) {
  const Index chosen = std::ssize(part);
  const double parts = is_run(part) ? std::log(static_cast<double>(extent)) : log_choices(extent, chosen);
  return parts + log_choices(size / extent * chosen, entries) - log_choices(size, entries) < std::log(rare);
}

/// By axis, the indices that any of the entries has.
std::vector<std::vector<Index>> indices_by_axis(const Shape& shape, const std::vector<Index>& entries) {
  std::vector<std::vector<bool>> seen;
  for (const Index extent : shape) seen.emplace_back(extent, false);
  for (const Index entry : entries) {
    const std::vector<Index> position = position_of(entry, shape);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) seen[axis][position[axis]] = true;
  }
  std::vector<std::vector<Index>> indices(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    for (Index i = 0; i < shape[axis]; ++i) {
      if (seen[axis][i]) indices[axis].push_back(i);
    }
  }
  return indices;
}

/// Whole shards where the rows are just that, else the rows, with the shard where it is a single one.
std::string sharded_row_words(const std::string& axis, const std::vector<Index>& rows, Index extent,
                              const std::vector<int>& shard_tokens) {
  std::vector<Index> ranks;
  Index owned = 0;
  for (const Index row : rows) {
    const int rank = owner_of(row, shard_tokens).rank;
    if (!ranks.empty() && ranks.back() == rank) continue;
    ranks.push_back(rank);
    owned += shard_tokens[rank];
  }
  const std::string counted = index_words(axis, rows, extent);
  if (owned == std::ssize(rows) && ranks.size() <= most_listed) {
    const std::string whole = index_words("rank", ranks, std::ssize(shard_tokens));
    return fmt::format("the shard{} of {}{}", ranks.size() > 1 ? "s" : "", whole,
                       is_run(rows) ? fmt::format(" ({})", counted) : "");
  }
  if (std::ssize(told(rows)) == extent) return "";
  return counted + " (counted over all ranks)" +
         (ranks.size() == 1 ? fmt::format(", in the shard of rank {}", ranks.front()) : "");
}

std::string row_words(const Output& output, const std::vector<Index>& rows, Index extent,
                      const std::vector<int>& shard_tokens) {
  const std::string& axis = output.axes[output.join_axis];
  if (axis == "rank" || std::ssize(rows) == extent) return "";
  if (shard_tokens.size() > 1) return sharded_row_words(axis, rows, extent, shard_tokens);
  return std::ssize(told(rows)) == extent ? "" : index_words(axis, rows, extent);
}

}  // namespace

std::vector<Index> position_of(Index flat, const Shape& shape) {
  std::vector<Index> position(shape.size());
  for (Index axis = std::ssize(shape) - 1; axis >= 0; --axis) {
    position[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return position;
}

Owner owner_of(Index row, const std::vector<int>& shard_tokens) {
  const std::vector<int> offsets = shard_offsets(shard_tokens);
  for (int rank = static_cast<int>(offsets.size()) - 1; rank >= 0; --rank) {
    if (row >= offsets[rank] && shard_tokens[rank] > 0) return {rank, row - offsets[rank]};
  }
  return {0, row};
}

std::string index_words(const std::string& axis, const std::vector<Index>& ascending, Index extent) {
  const std::vector<Index> part = told(ascending);
  std::string words = axis + (part.size() > 1 ? "s " : " ") + std::to_string(part.front());
  if (part.size() > 1 && is_run(part)) {
    words += fmt::format(" to {}", part.back());
  } else {
    for (std::size_t i = 1; i < part.size(); ++i) {
      words += fmt::format("{}{}", i + 1 == part.size() ? " and " : ", ", part[i]);
    }
  }
  return words + fmt::format(" of {}", extent);
}

std::string locality(const Output& output, const Shape& shape, const std::vector<Index>& entries,
                     const std::vector<int>& shard_tokens) {
  if (entries.empty()) return "";
  const std::vector<std::vector<Index>> indices = indices_by_axis(shape, entries);
  const Index size = element_count(shape);
  std::string text;
  const auto add = [&](const std::string& words) {
    text += (text.empty() || words.empty() ? "" : ", ") + words;
  };
  for (Index axis = 0; axis < std::ssize(shape); ++axis) {
    if (axis == output.join_axis) {
      add(row_words(output, indices[axis], shape[axis], shard_tokens));
    } else if (const std::vector<Index> part = told(indices[axis]);
               std::ssize(part) < shape[axis] && is_telling(std::ssize(entries), size, part, shape[axis])) {
      add(index_words(output.axes[axis], part, shape[axis]));
    }
  }
  return text;
}

}  // namespace course
