#include "judge/attention/attended_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace course::log_reading {

namespace {

constexpr int nobody = -1;

/// A logged block. `k_of` and `v_of` are ranks, or nobody where the data are no rank's whole shard.
struct Attended {
  int owner;  ///< as the function named it
  int keys;
  int k_of;
  int v_of;
};

/// What one rank attended to, call by call. Empty when the player returned no log.
using Calls = std::vector<Attended>;

/// By rank, the fingerprint of its shard of an input.
std::vector<float> fingerprints(const Example& example, const char* name) {
  std::vector<float> prints;
  for (int rank = 0; rank < example.ranks(); ++rank) {
    prints.push_back(block_log::fingerprint(example.layout.shard(example.inputs.at(name), 1, rank).heads()));
  }
  return prints;
}

/// `likely` where it fits (empty shards look alike), else the first rank that does.
int whose(const std::vector<float>& prints, float print, int likely) {
  if (prints[likely] == print) return likely;
  const auto found = std::ranges::find(prints, print);
  return found == prints.end() ? nobody : static_cast<int>(found - prints.begin());
}

/// By rank.
std::vector<Calls> read(const Example& example, const Outcome& outcome) {
  std::vector<Calls> by_rank(example.ranks());
  if (outcome.outputs.empty()) return by_rank;
  const std::vector<float> k = fingerprints(example, "k"), v = fingerprints(example, "v");
  for (int rank = 0; rank < example.ranks(); ++rank) {
    const auto log = outcome.outputs[rank].find(block_log::output);
    if (log == outcome.outputs[rank].end()) continue;
    for (int call = 0; call < log->second.extent(0); ++call) {
      const std::span<const float> row = log->second.matrix().row(call);
      const int likely = holder(rank, call, example.ranks());
      by_rank[rank].push_back({static_cast<int>(row[0]), static_cast<int>(row[1]), whose(k, row[2], likely),
                               whose(v, row[3], likely)});
    }
  }
  return by_rank;
}

std::string when(int hop) {
  return hop == 0 ? "before the first hop" : fmt::format("after hop {}", hop);
}

std::string data(const char* name, int of, int keys) {
  if (of != nobody) return fmt::format("{} of rank {}", name, of);
  return fmt::format("{} that is no rank's whole shard ({} tokens)", name, keys);
}

/// Something wrong with what a rank attended to.
struct Wrong {
  int hop;
  std::string text;
};

/// The first call of one rank that was not given what it should.
std::optional<Wrong> first_wrong(const Example& example, const Calls& calls, int rank) {
  const int world_size = example.ranks();
  int hop = 0;
  for (const Attended& call : calls) {
    // Somebody who leaves empty blocks out calls less often than there are hops.
    while (call.keys > 0 && hop < world_size && example.layout.tokens(holder(rank, hop, world_size)) == 0)
      ++hop;
    if (hop >= world_size) {
      return Wrong{hop,
                   fmt::format("rank {} attended to more blocks than the {} there are", rank, world_size)};
    }
    const int expected = holder(rank, hop, world_size);
    if (call.k_of != expected || call.v_of != expected) {
      return Wrong{
          hop, fmt::format("rank {}, {}: attended to {} with {} (owner given: {}); the block of rank {} was "
                           "expected",
                           rank, when(hop), data("K", call.k_of, call.keys), data("V", call.v_of, call.keys),
                           call.owner, expected)};
    }
    ++hop;
  }
  for (; hop < world_size; ++hop) {
    const int missing = holder(rank, hop, world_size);
    if (example.layout.tokens(missing) > 0) {
      return Wrong{hop, fmt::format("rank {} attended to {} of {} blocks; that of rank {} is missing", rank,
                                    calls.size(), world_size, missing)};
    }
  }
  return std::nullopt;
}

/// Whether every rank named (rank + hop) mod P at every hop, where that differs from (rank - hop) mod P.
bool counts_forward(const std::vector<Calls>& by_rank) {
  const int world_size = static_cast<int>(by_rank.size());
  for (int rank = 0; rank < world_size; ++rank) {
    if (std::ssize(by_rank[rank]) != world_size) return false;
    for (int hop = 0; hop < world_size; ++hop) {
      if (by_rank[rank][hop].owner != holder(rank, -hop, world_size)) return false;
    }
  }
  return world_size > 2;
}

/// Whether no shard was attended to twice. (If one was, the answer is wrong, and it was said why.)
bool no_block_twice(const Calls& calls) {
  return std::ranges::none_of(calls, [&](const Attended& call) {
    const auto same = [&](const Attended& other) { return other.keys > 0 && other.k_of == call.k_of; };
    return call.keys > 0 && std::ranges::count_if(calls, same) > 1;
  });
}

}  // namespace

int holder(int rank, int hop, int world_size) {
  return ((rank - hop) % world_size + world_size) % world_size;
}

std::function<std::string(const Played&)> explaining(BlocksRight blocks_right) {
  return [blocks_right](const Played& played) -> std::string {
    const Example& example = *played.example;
    const std::vector<Calls> by_rank = read(example, *played.outcome);
    std::optional<Wrong> earliest;
    for (int rank = 0; rank < example.ranks(); ++rank) {
      const std::optional<Wrong> wrong = first_wrong(example, by_rank[rank], rank);
      if (wrong && (!earliest || wrong->hop < earliest->hop)) earliest = wrong;
    }
    if (earliest) return earliest->text;
    const std::string more = example.ranks() > 1 ? blocks_right(played) : "";
    return more.empty() ? "" : "every rank was given the right blocks: " + more;
  };
}

bool attended_to_more_than_all(const Example& example, const Outcome& outcome) {
  return std::ranges::any_of(read(example, outcome),
                             [&](const Calls& calls) { return std::ssize(calls) > example.ranks(); });
}

std::vector<Finding> names_the_owners(const Example& example, const Outcome& outcome) {
  const std::vector<Calls> by_rank = read(example, outcome);
  for (int rank = 0; rank < example.ranks(); ++rank) {
    if (!no_block_twice(by_rank[rank])) continue;
    for (int hop = 0; hop < std::ssize(by_rank[rank]); ++hop) {
      const Attended& call = by_rank[rank][hop];
      if (call.keys == 0 || call.k_of == nobody || call.k_of != call.v_of || call.k_of == call.owner)
        continue;
      return {
          {counts_forward(by_rank) ? "owner_off" : "",
           fmt::format("rank {}, {}: block.accumulate was told that the block is rank {}'s; it is rank {}'s",
                       rank, when(hop), call.owner, call.k_of)}};
    }
  }
  return {};
}

}  // namespace course::log_reading
