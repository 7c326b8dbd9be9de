#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "tensor/view.hpp"

namespace course {

/// How `tokens` positions are divided among `ranks` contiguous shards: the first tokens % ranks shards hold
/// one more than the rest. A shard may be empty. Throws std::invalid_argument for ranks < 1 or tokens < 0.
inline std::vector<int> even_shards(int tokens, int ranks) {
  if (ranks < 1 || tokens < 0) {
    throw std::invalid_argument("cannot divide " + std::to_string(tokens) + " tokens among " +
                                std::to_string(ranks) + " ranks");
  }
  std::vector<int> shards(ranks, tokens / ranks);
  for (int rank = 0; rank < tokens % ranks; ++rank) ++shards[rank];
  return shards;
}

/// The tokens of all shards together.
inline int total_tokens(const std::vector<int>& shard_tokens) {
  return std::accumulate(shard_tokens.begin(), shard_tokens.end(), 0);
}

/// The length of the longest shard, of which there must be one.
inline int largest_shard(const std::vector<int>& shard_tokens) {
  return *std::ranges::max_element(shard_tokens);
}

/// The first global position of each shard.
inline std::vector<int> shard_offsets(const std::vector<int>& shard_tokens) {
  std::vector<int> offsets(shard_tokens.size());
  std::exclusive_scan(shard_tokens.begin(), shard_tokens.end(), offsets.begin(), 0);
  return offsets;
}

/// How many hops to rank + 1, from 0 to ranks - 1, bring a block from its owner to `rank`.
inline int hops_between(int owner, int rank, int ranks) {
  return ((rank - owner) % ranks + ranks) % ranks;
}

}  // namespace course
