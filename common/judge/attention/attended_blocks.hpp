#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "judge/task.hpp"
#include "protocol/block_log.hpp"
#include "ring/shards.hpp"

/// Reads the players' logs beside the shards that they were given: whose keys and values were attended to
/// when.
namespace log_reading {

using namespace course;

/// A logged block. `k_of` and `v_of` are ranks, or nobody where the data are no rank's whole shard.
struct Attended {
  int owner;  ///< as the function named it
  int keys;
  int k_of;
  int v_of;
};

inline constexpr int nobody = -1;

/// Recognises shards by their fingerprints.
class Shards {
 public:
  explicit Shards(const Example& example) {
    const std::vector<int> offsets = shard_offsets(example.shard_tokens);
    for (int rank = 0; rank < example.ranks(); ++rank) {
      const auto print = [&](const char* name) {
        const Tensor own = slice(example.inputs.at(name), 1, offsets[rank], example.shard_tokens[rank]);
        return block_log::fingerprint(own.heads());
      };
      k_.push_back(print("k"));
      v_.push_back(print("v"));
    }
  }
  /// `likely` where it fits (empty shards look alike), else the first rank that does.
  int whose_k(float print, int likely) const { return whose(k_, print, likely); }
  int whose_v(float print, int likely) const { return whose(v_, print, likely); }

 private:
  static int whose(const std::vector<float>& prints, float print, int likely) {
    if (prints[likely] == print) return likely;
    const auto found = std::ranges::find(prints, print);
    return found == prints.end() ? nobody : static_cast<int>(found - prints.begin());
  }

  std::vector<float> k_;
  std::vector<float> v_;
};

inline int holder(int rank, int hop, int world_size) {
  return ((rank - hop) % world_size + world_size) % world_size;
}

/// What a rank attended to, call by call. Empty when the player returned no log.
inline std::vector<Attended> read(const Example& example, const Outcome& outcome, int rank) {
  if (outcome.outputs.empty() || !outcome.outputs[rank].contains(block_log::output)) return {};
  const Tensor& log = outcome.outputs[rank].at(block_log::output);
  const Shards shards(example);
  std::vector<Attended> calls;
  for (Index call = 0; call < log.extent(0); ++call) {
    const std::span<const float> row = log.matrix().row(call);
    const int likely = holder(rank, static_cast<int>(call), example.ranks());
    calls.push_back({static_cast<int>(row[0]), static_cast<int>(row[1]), shards.whose_k(row[2], likely),
                     shards.whose_v(row[3], likely)});
  }
  return calls;
}

inline std::string when(int hop) {
  return hop == 0 ? "before the first hop" : fmt::format("after hop {}", hop);
}

inline std::string data(const char* name, int of, int keys) {
  if (of != nobody) return fmt::format("{} of rank {}", name, of);
  return fmt::format("{} that is no rank's whole shard ({} tokens)", name, keys);
}

/// Something wrong with what a rank attended to.
struct Wrong {
  int hop;
  std::string text;
};

/// The first call of one rank that was not given what it should.
inline std::optional<Wrong> first_wrong(const Example& example, const std::vector<Attended>& calls,
                                        int rank) {
  const int world_size = example.ranks();
  int hop = 0;
  for (const Attended& call : calls) {
    // Somebody who leaves empty blocks out calls less often than there are hops.
    while (call.keys > 0 && hop < world_size && example.shard_tokens[holder(rank, hop, world_size)] == 0)
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
    if (example.shard_tokens[missing] > 0) {
      return Wrong{hop, fmt::format("rank {} attended to {} of {} blocks; that of rank {} is missing", rank,
                                    calls.size(), world_size, missing)};
    }
  }
  return std::nullopt;
}

/// A wrong answer in words: the earliest block that was not what it should be; `blocks_right` where every
/// rank was given the right blocks.
inline std::string explain(const Example& example, const Outcome& outcome, const std::string& blocks_right) {
  std::optional<Wrong> earliest;
  for (int rank = 0; rank < example.ranks(); ++rank) {
    const std::optional<Wrong> wrong = first_wrong(example, read(example, outcome, rank), rank);
    if (wrong && (!earliest || wrong->hop < earliest->hop)) earliest = wrong;
  }
  if (earliest) return earliest->text;
  return "every rank was given the right blocks: " + blocks_right;
}

/// Whether every rank named (rank + hop) mod P at every hop, where that differs from (rank - hop) mod P.
inline bool counts_forward(const std::vector<std::vector<Attended>>& by_rank) {
  const int world_size = static_cast<int>(by_rank.size());
  for (int rank = 0; rank < world_size; ++rank) {
    if (static_cast<int>(by_rank[rank].size()) != world_size) return false;
    for (int hop = 0; hop < world_size; ++hop) {
      if (by_rank[rank][hop].owner != (rank + hop) % world_size) return false;
    }
  }
  return world_size > 2;
}

/// Whether no shard was attended to twice. (If one was, the answer is wrong, and `explain` has said why.)
inline bool no_block_twice(const std::vector<Attended>& calls) {
  for (const Attended& call : calls) {
    const auto same = [&](const Attended& other) { return other.keys > 0 && other.k_of == call.k_of; };
    if (call.keys > 0 && std::ranges::count_if(calls, same) > 1) return false;
  }
  return true;
}

/// The owner named for a block is another rank than the one whose keys and values they are.
inline std::vector<Finding> names_the_owners(const Example& example, const Outcome& outcome) {
  std::vector<std::vector<Attended>> by_rank;
  for (int rank = 0; rank < example.ranks(); ++rank) by_rank.push_back(read(example, outcome, rank));
  for (int rank = 0; rank < example.ranks(); ++rank) {
    if (!no_block_twice(by_rank[rank])) continue;
    for (std::size_t hop = 0; hop < by_rank[rank].size(); ++hop) {
      const Attended& call = by_rank[rank][hop];
      if (call.keys == 0 || call.k_of == nobody || call.k_of != call.v_of || call.k_of == call.owner)
        continue;
      return {
          {counts_forward(by_rank) ? "owner_off" : "",
           fmt::format("rank {}, {}: block.accumulate was told that the block is rank {}'s; it is rank {}'s",
                       rank, when(static_cast<int>(hop)), call.owner, call.k_of)}};
    }
  }
  return {};
}

}  // namespace log_reading
