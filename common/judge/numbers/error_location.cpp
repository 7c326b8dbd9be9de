#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "judge/numbers/wrong_entries.hpp"
#include "text/text_file.hpp"

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

/// "rows" for several, "queries"
std::string axis_words(const std::string& axis, std::size_t count) {
  if (count < 2) return axis;
  return axis.ends_with('y') ? axis.substr(0, axis.size() - 1) + "ies" : axis + "s";
}

/// The indices as runs: "rows 2 to 4 and 10 to 12 of 16". Of more than four runs the first four.
std::string runs_words(const std::string& axis, const std::vector<Index>& ascending, Index extent) {
  std::string words = axis_words(axis, ascending.size());
  std::size_t runs = 0;
  for (auto first = ascending.begin(); first != ascending.end(); ++runs) {
    if (runs == most_listed) return fmt::format("{} ... of {}", words, extent);
    const auto is_gap = [](Index a, Index b) { return b != a + 1; };
    const auto last = std::adjacent_find(first, ascending.end(), is_gap);
    const auto end = last == ascending.end() ? last : last + 1;
    const char* before = runs == 0 ? " " : end == ascending.end() ? " and " : ", ";
    words += before + std::to_string(*first) + (end - first > 1 ? fmt::format(" to {}", end[-1]) : "");
    first = end;
  }
  return fmt::format("{} of {}", words, extent);
}

/// Whole shards where the rows are just that, else the rows, with the shard where it is a single one.
std::string sharded_row_words(const std::string& axis, const std::vector<Index>& rows, Index extent,
                              const Layout& layout) {
  std::set<Index> owners;
  for (const Index row : rows) owners.insert(layout.place(row).rank);
  const std::vector<Index> ranks(owners.begin(), owners.end());
  Index owned = 0;
  for (const Index rank : ranks) owned += layout.tokens(static_cast<int>(rank));
  const bool on_one = ranks.size() == 1;
  if (owned == std::ssize(rows) && ranks.size() <= most_listed) {
    const std::string whole = index_words("rank", ranks, layout.ranks());
    return fmt::format("the shard{} of {}{}", on_one ? "" : "s", whole,
                       on_one || is_run(rows) ? fmt::format(" ({})", runs_words(axis, rows, extent)) : "");
  }
  const std::string shard = on_one ? fmt::format("the shard of rank {}", ranks.front()) : "";
  if (std::ssize(told(rows)) == extent) return owned < extent ? shard : "";
  return index_words(axis, rows, extent) + " (counted over all ranks)" + (on_one ? ", in " + shard : "");
}

std::string row_words(const Output& output, const std::vector<Index>& rows, Index extent,
                      const Layout& layout) {
  const std::string& axis = output.axes[output.join_axis];
  if (axis == "rank" || std::ssize(rows) == extent) return "";
  if (layout.ranks() > 1) return sharded_row_words(axis, rows, extent, layout);
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

std::string index_words(const std::string& axis, const std::vector<Index>& ascending, Index extent) {
  const std::vector<Index> part = told(ascending);
  const bool is_plural = part.size() > 1;
  return fmt::format(
      "{} {} of {}", axis_words(axis, part.size()),
      is_plural && is_run(part) ? fmt::format("{} to {}", part.front(), part.back()) : listed(part), extent);
}

std::string locality(const Output& output, const Shape& shape, const std::vector<Index>& entries,
                     const Layout& layout) {
  if (entries.empty()) return "";
  const std::vector<std::vector<Index>> indices = indices_by_axis(shape, entries);
  const Index size = element_count(shape);
  std::string text;
  const auto add = [&](const std::string& words) {
    text += (text.empty() || words.empty() ? "" : ", ") + words;
  };
  for (Index axis = 0; axis < std::ssize(shape); ++axis) {
    if (axis == output.join_axis) {
      add(row_words(output, indices[axis], shape[axis], layout));
    } else if (const std::vector<Index> part = told(indices[axis]);
               std::ssize(part) < shape[axis] && is_telling(std::ssize(entries), size, part, shape[axis])) {
      add(index_words(output.axes[axis], part, shape[axis]));
    }
  }
  return text;
}

}  // namespace course
