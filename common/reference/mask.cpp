#include "reference/mask.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace course::reference {

namespace {

constexpr Index everything = std::numeric_limits<Index>::max();

}  // namespace

Mask::Mask() : Mask([](Index) { return KeyRange{0, everything}; }) {}

Mask Mask::causal(Index offset) {
  return Mask([offset](Index query) { return KeyRange{0, query + offset + 1}; });
}

Mask Mask::window(Index width, Index offset) {
  if (width < 1)
    throw std::invalid_argument("a window of " + std::to_string(width) + " keys, expected at least 1");
  return Mask([=](Index query) {
    const Index last = query + offset + 1;
    return KeyRange{last - width, last};
  });
}

Mask Mask::documents(std::vector<Index> starts) {
  if (starts.empty() || starts.front() != 0) {
    throw std::invalid_argument("the starts of documents begin with " +
                                (starts.empty() ? "nothing" : std::to_string(starts.front())) +
                                ", expected 0");
  }
  const auto fall = std::ranges::adjacent_find(starts, std::greater());
  if (fall != starts.end()) {
    throw std::invalid_argument("a document starts at " + std::to_string(fall[1]) + " after one at " +
                                std::to_string(fall[0]));
  }
  return Mask([starts = std::move(starts)](Index query) {
    const auto end = std::ranges::upper_bound(starts, query);
    return end == starts.end() ? KeyRange{0, 0} : KeyRange{end[-1], end[0]};
  });
}

Mask Mask::packed(const std::vector<Index>& starts, bool causal, Index window) {
  Mask seen = starts.empty() ? none() : documents(starts);
  if (causal) seen = seen & Mask::causal();
  return window > 0 ? seen & Mask::window(window) : seen;
}

Mask Mask::ranges(std::vector<KeyRange> ranges) {
  return Mask([ranges = std::move(ranges)](Index query) {
    return query < std::ssize(ranges) ? ranges[static_cast<std::size_t>(query)] : KeyRange{0, 0};
  });
}

Mask operator&(const Mask& a, const Mask& b) {
  return Mask([a, b](Index query) {
    const KeyRange of_a = a.keys(query), of_b = b.keys(query);
    return KeyRange{std::max(of_a.first, of_b.first), std::min(of_a.last, of_b.last)};
  });
}

KeyRange Mask::keys(Index query) const {
  const auto [first, last] = range_(query);
  const Index begin = std::max<Index>(0, first);
  return {begin, std::max(begin, last)};
}

Mask Mask::among(std::span<const Index> queries, std::span<const Index> keys) const {
  return Mask([mask = *this, of_query = std::vector<Index>(queries.begin(), queries.end()),
               of_key = std::vector<Index>(keys.begin(), keys.end())](Index query) {
    const auto place = [&](Index position) {
      return std::ranges::lower_bound(of_key, position) - of_key.begin();
    };
    const auto [first, last] = mask.keys(of_query.at(query));
    return KeyRange{place(first), place(last)};
  });
}

Index Mask::work(std::span<const Index> queries, std::span<const Index> keys) const {
  const Mask local = among(queries, keys);
  Index pairs = 0;
  for (Index i = 0; i < std::ssize(queries); ++i) {
    const auto [first, last] = local.keys(i);
    pairs += last - first;
  }
  return pairs;
}

Tile Mask::tile(std::span<const Index> queries, std::span<const Index> keys) const {
  const Index shown = work(queries, keys);
  if (shown == 0) return Tile::Empty;
  return shown == std::ssize(queries) * std::ssize(keys) ? Tile::Full : Tile::Mixed;
}

}  // namespace course::reference
