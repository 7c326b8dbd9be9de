#include "ring/layout.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "ring/shards.hpp"

namespace course {

namespace {

using Lists = std::vector<std::vector<Index>>;

/// Positions from 0 on in lists of these lengths; `whose` is what a message calls the owner of a list.
Lists consecutive(const std::vector<int>& lengths, const std::string& whose) {
  Lists lists;
  Index next = 0;
  for (const int length : lengths) {
    if (length < 0) {
      throw std::invalid_argument(whose + " " + std::to_string(lists.size()) + " has " +
                                  std::to_string(length) + " tokens, expected at least 0");
    }
    std::vector<Index>& list = lists.emplace_back(length);
    std::iota(list.begin(), list.end(), next);
    next += length;
  }
  return lists;
}

std::string owned(Index position, std::size_t rank) {
  return "rank " + std::to_string(rank) + " owns position " + std::to_string(position);
}

void require_ascending(const Lists& positions) {
  for (std::size_t rank = 0; rank < positions.size(); ++rank) {
    Index least = 0;
    for (const Index position : positions[rank]) {
      if (position < least) {
        throw std::invalid_argument(owned(position, rank) + ", expected " + std::to_string(least) +
                                    " or more: a rank's positions ascend");
      }
      least = position + 1;
    }
  }
}

void require_every_position_once(const Lists& positions) {
  std::vector<std::pair<Index, std::size_t>> owners;
  for (std::size_t rank = 0; rank < positions.size(); ++rank) {
    for (const Index position : positions[rank]) owners.emplace_back(position, rank);
  }
  std::ranges::sort(owners);
  for (Index expected = 0; expected < std::ssize(owners); ++expected) {
    const auto [position, rank] = owners[expected];
    if (position < expected) {
      throw std::invalid_argument(owned(position, rank) + ", and so does rank " +
                                  std::to_string(owners[expected - 1].second));
    }
    if (position > expected) {
      throw std::invalid_argument("no rank owns position " + std::to_string(expected) + " of " +
                                  std::to_string(owners.size()) + "; " + owned(position, rank));
    }
  }
}

}  // namespace

Layout::Layout(const std::vector<int>& shard_tokens) : Layout(of(consecutive(shard_tokens, "rank"))) {}

Layout Layout::striped(int tokens, int ranks) {
  Lists positions(even_shards(tokens, ranks).size());
  for (int position = 0; position < tokens; ++position) positions[position % ranks].push_back(position);
  return of(std::move(positions));
}

Layout Layout::zigzag(const std::vector<int>& chunk_tokens) {
  if (chunk_tokens.size() % 2 != 0) {
    throw std::invalid_argument("a zigzag layout has two chunks a rank; there are " +
                                std::to_string(chunk_tokens.size()) + " chunks");
  }
  Lists positions = consecutive(chunk_tokens, "chunk");
  for (std::size_t rank = 0; 2 * rank < chunk_tokens.size(); ++rank)
    std::ranges::copy(positions[chunk_tokens.size() - 1 - rank], std::back_inserter(positions[rank]));
  positions.resize(chunk_tokens.size() / 2);
  return of(std::move(positions));
}

Layout Layout::documents(const std::vector<Index>& starts, int tokens, int ranks) {
  if (starts.empty() || starts.front() != 0 || starts.back() > tokens || !std::ranges::is_sorted(starts)) {
    throw std::invalid_argument("starts of documents ascend from 0 to at most " + std::to_string(tokens) +
                                ", the row's tokens");
  }
  std::vector<Index> ends(starts.begin() + 1, starts.end());
  ends.push_back(tokens);
  Lists positions(even_shards(tokens, ranks).size());
  Index next = 0;
  for (const Index end : ends) {
    const std::vector<int> chunks = even_shards(static_cast<int>(end - next), 2 * ranks);
    for (int chunk = 0; chunk < 2 * ranks; ++chunk) {
      const int rank = std::min(chunk, 2 * ranks - 1 - chunk);
      for (int token = 0; token < chunks[chunk]; ++token) positions[rank].push_back(next++);
    }
  }
  return of(std::move(positions));
}

Layout Layout::named(const std::string& name, int tokens, int ranks) {
  if (name == "contiguous") return even_shards(tokens, ranks);
  if (name == "striped") return striped(tokens, ranks);
  if (name == "zigzag") return zigzag(even_shards(tokens, 2 * ranks));
  throw std::invalid_argument("there is no layout '" + name + "'; expected contiguous, striped or zigzag");
}

Layout Layout::of(Lists positions) {
  require_ascending(positions);
  require_every_position_once(positions);
  Layout layout;
  layout.positions_ = std::move(positions);
  layout.places_.resize(total_tokens(layout.shard_tokens()));
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    Index row = 0;
    for (const Index position : layout.positions(rank)) layout.places_[position] = {rank, row++};
  }
  return layout;
}

std::vector<int> Layout::shard_tokens() const {
  std::vector<int> lengths;
  for (int rank = 0; rank < ranks(); ++rank) lengths.push_back(tokens(rank));
  return lengths;
}

Place Layout::place(Index position) const {
  if (position < 0 || position >= tokens()) {
    throw std::out_of_range("there is no position " + std::to_string(position) + " among " +
                            std::to_string(tokens()));
  }
  return places_[position];
}

std::vector<Index> Layout::order_by_rank() const {
  const std::vector<int> offsets = shard_offsets(shard_tokens());
  std::vector<Index> order;
  for (const Place& place : places_) order.push_back(offsets[place.rank] + place.row);
  return order;
}

}  // namespace course
