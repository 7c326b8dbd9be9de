#include "judge/attention/attended_blocks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "judge/attention/ring/ring_mask.hpp"
#include "judge/checks/communication_checks.hpp"
#include "ring/shards.hpp"

namespace course::log_reading {

namespace {

constexpr int nobody = -1;

/// A logged block. `k_of` and `v_of` are ranks, or nobody where the data are no rank's whole shard.
struct Attended {
  int owner;  ///< as the function named it
  int keys;
  int k_of;
  int v_of;
  int exchanged;  ///< the rank whose V was given as K and whose K as V, or nobody
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
      const int likely = holder(example, rank, call);
      Attended attended{static_cast<int>(row[0]), static_cast<int>(row[1]), whose(k, row[2], likely),
                        whose(v, row[3], likely), whose(v, row[2], likely)};
      if (attended.k_of != nobody || whose(k, row[3], likely) != attended.exchanged)
        attended.exchanged = nobody;
      by_rank[rank].push_back(attended);
    }
  }
  return by_rank;
}

/// How many hops bring a block from its owner to `rank`.
int hops_between(const Example& example, int owner, int rank) {
  return example.direction > 0 ? course::hops_between(owner, rank, example.ranks())
                               : course::hops_between(rank, owner, example.ranks());
}

std::string when(int hop) {
  return hop == 0 ? "before the first hop" : fmt::format("after hop {}", hop);
}

std::string data(const char* name, int of, int keys) {
  if (of != nobody) return fmt::format("{} of rank {}", name, of);
  return fmt::format("{} that is no rank's whole shard ({} tokens)", name, keys);
}

/// What a call was given in place of the block of rank `expected`.
std::string given(const Example& example, const Calls& calls, std::size_t call, int expected) {
  const Attended& one = calls[call];
  const std::string was_expected = fmt::format("; the block of rank {} was expected", expected);
  if (one.exchanged != nobody) {
    return fmt::format("rank {}'s V was given as K, and its K as V{}", one.exchanged,
                       one.exchanged == expected ? "" : was_expected);
  }
  const int tokens = example.layout.tokens(expected);
  if (one.k_of == nobody && one.v_of == nobody && one.keys != tokens) {
    const bool longest = one.keys == largest_shard(example.layout.shard_tokens());
    return fmt::format("a view of {} tokens was given{} where rank {}'s block has {}", one.keys,
                       longest ? ", the length of the longest shard," : "", expected, tokens);
  }
  const bool again = call >= 2 && one.k_of != nobody && one.k_of == one.v_of &&
                     one.k_of == calls[call - 1].k_of && one.k_of == calls[call - 1].v_of;
  if (again) {
    return fmt::format(
        "attended to the block of rank {} again (owner given: {}), as a hop before; that of rank "
        "{} was expected: a hop passes on what the last one brought, not the rank's own block",
        one.k_of, one.owner, expected);
  }
  return fmt::format("attended to {} with {} (owner given: {}){}", data("K", one.k_of, one.keys),
                     data("V", one.v_of, one.keys), one.owner, was_expected);
}

/// "rank 1 sent 48 bytes in all; the blocks that it has to pass on have 192: ..." of the rank that sends to
/// `rank`, where what that was given is nobody's and it sent too little; else empty.
std::string too_few_bytes(const Example& example, const Outcome& outcome, const Attended& given, int rank) {
  if (given.k_of != nobody || given.v_of != nobody || given.exchanged != nobody) return "";
  const int sender = holder(example, rank, 1);
  if (std::ssize(outcome.reports) <= sender) return "";
  int tokens = 0;
  for (int hop = 0; hop + 1 < example.ranks(); ++hop)
    tokens += example.layout.tokens(holder(example, sender, hop));
  const std::int64_t sent = checks::bytes_sent(outcome.reports[sender]);
  const std::int64_t needed = checks::bytes_of_block(example, tokens);
  if (sent <= 0 || sent >= needed) return "";
  const std::string factor = needed % sent == 0 ? checks::missing_factor(example, needed / sent) : "";
  return fmt::format("; rank {} sent {} bytes in all, and the blocks that it has to pass on have {}{}",
                     sender, sent, needed, factor.empty() ? "" : ": " + factor);
}

/// How many blocks a rank should attend to; without a mask it may leave out empty ones of them.
int blocks_for(const Example& example, int rank) {
  if (!ring_mask::is_masked(example)) return example.ranks();
  int count = 0;
  for (int owner = 0; owner < example.ranks(); ++owner) count += is_needed(example, rank, owner) ? 1 : 0;
  return count;
}

/// Something wrong with what a rank attended to.
struct Wrong {
  int hop;
  std::string text;
};

/// The first call of one rank that was not given what it should.
std::optional<Wrong> first_wrong(const Example& example, const Outcome& outcome, const Calls& calls,
                                 int rank) {
  const int world_size = example.ranks();
  const int count = blocks_for(example, rank);
  int hop = 0;
  for (const Attended& call : calls) {
    // Somebody who leaves empty blocks out calls less often than there are hops.
    while (call.keys > 0 && hop < world_size && !is_needed(example, rank, holder(example, rank, hop))) ++hop;
    if (hop >= world_size) {
      return Wrong{hop, fmt::format("rank {} attended to more blocks than the {} there are{}", rank, count,
                                    ring_mask::is_masked(example) ? " for its queries to see" : "")};
    }
    const int expected = holder(example, rank, hop);
    if (call.k_of != expected || call.v_of != expected) {
      return Wrong{hop, fmt::format("rank {}, {}: {}{}", rank, when(hop),
                                    given(example, calls, &call - calls.data(), expected),
                                    too_few_bytes(example, outcome, call, rank))};
    }
    ++hop;
  }
  for (; hop < world_size; ++hop) {
    const int missing = holder(example, rank, hop);
    if (is_needed(example, rank, missing)) {
      return Wrong{hop, fmt::format("rank {} attended to {} of {} blocks; that of rank {} is missing", rank,
                                    calls.size(), count, missing)};
    }
  }
  return std::nullopt;
}

/// Whether every rank named the block that as many hops the other way would have brought, where these differ.
bool counts_forward(const std::vector<Calls>& by_rank) {
  const int world_size = static_cast<int>(by_rank.size());
  for (int rank = 0; rank < world_size; ++rank) {
    for (const Attended& call : by_rank[rank]) {
      if (call.keys == 0) continue;
      if (call.k_of == nobody || call.owner != holder_of_other_direction(rank, call.k_of, world_size))
        return false;
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

int holder_of_other_direction(int rank, int owner, int world_size) {
  return holder(rank, -course::hops_between(owner, rank, world_size), world_size);
}

bool is_needed(const Example& example, int rank, int owner) {
  return ring_mask::is_masked(example) ? ring_mask::is_seen(example, rank, owner)
                                       : example.layout.tokens(owner) > 0;
}

std::function<std::string(const Played&)> explaining(BlocksRight blocks_right) {
  return [blocks_right](const Played& played) -> std::string {
    const Example& example = *played.example;
    const std::vector<Calls> by_rank = read(example, *played.outcome);
    std::optional<Wrong> earliest;
    for (int rank = 0; rank < example.ranks(); ++rank) {
      const std::optional<Wrong> wrong = first_wrong(example, *played.outcome, by_rank[rank], rank);
      if (wrong && (!earliest || wrong->hop < earliest->hop)) earliest = wrong;
    }
    if (earliest) return earliest->text;
    const std::string more = blocks_right(played);
    if (more.empty() || example.ranks() == 1) return more;
    return "every rank was given the right blocks: " + more;
  };
}

std::string leftover(const Example& example, const Outcome& outcome) {
  const std::vector<Calls> by_rank = read(example, outcome);
  for (std::size_t rank = 0; rank < outcome.outputs.size(); ++rank) {
    const auto log = outcome.outputs[rank].find(block_log::leftover_output);
    if (log == outcome.outputs[rank].end()) continue;
    const Index calls = std::min<Index>(log->second.extent(0), std::ssize(by_rank[rank]));
    for (Index call = 0; call < calls; ++call) {
      const std::span<const float> row = log->second.matrix().row(call);
      if (row[0] < 0) continue;
      return fmt::format(
          "rank {}, block of rank {}: block.accumulate was given {} that is not 0 at [head {}, row {}, col "
          "{}], "
          "in memory where the block of rank {} was computed before",
          rank, by_rank[rank][call].owner, row[0] == 0 ? "dk" : "dv", row[1], row[2], row[3], row[4]);
    }
  }
  return "";
}

bool attended_to_all(const Example& example, const Outcome& outcome) {
  const std::vector<Calls> by_rank = read(example, outcome);
  for (int rank = 0; rank < example.ranks(); ++rank) {
    if (by_rank[rank].empty() || first_wrong(example, outcome, by_rank[rank], rank)) return false;
  }
  return true;
}

bool attended_to_more_than_all(const Example& example, const Outcome& outcome) {
  return std::ranges::any_of(read(example, outcome),
                             [&](const Calls& calls) { return std::ssize(calls) > example.ranks(); });
}

std::vector<Finding> names_the_owners(const Example& example, const Outcome& outcome) {
  const std::vector<Calls> by_rank = read(example, outcome);
  for (int rank = 0; rank < example.ranks(); ++rank) {
    if (!no_block_twice(by_rank[rank])) continue;
    for (const Attended& call : by_rank[rank]) {
      if (call.keys == 0 || call.k_of == nobody || call.k_of != call.v_of || call.k_of == call.owner)
        continue;
      return {
          {counts_forward(by_rank) ? "owner_off" : "",
           fmt::format("rank {}, {}: block.accumulate was told that the block is rank {}'s; it is rank {}'s",
                       rank, when(hops_between(example, call.k_of, rank)), call.owner, call.k_of)}};
    }
  }
  return {};
}

bool sent_bytes_of_hops(checks::Hops hops, const Example& example, const Outcome& outcome, Index part) {
  if (std::ssize(outcome.reports) != example.ranks() || !checks::traffic_was_measured(outcome)) return false;
  for (int rank = 0; rank < example.ranks(); ++rank) {
    int tokens = 0;
    for (int hop = 0; hop < hops(example.ranks()); ++hop)
      tokens += example.layout.tokens(holder(example, rank, hop));
    const std::int64_t sent = part * checks::bytes_sent(outcome.reports[rank]);
    if (sent != checks::bytes_of_block(example, tokens) && sent != checks::bytes_of_hops(hops, example))
      return false;
  }
  return true;
}

CommunicationCheck sends_whole_blocks(checks::Hops hops) {
  return [hops](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    const auto is_nobodys = [](const Calls& calls) {
      return std::ranges::count(calls, nobody, &Attended::k_of) > 0;
    };
    if (std::ranges::none_of(read(example, outcome), is_nobodys)) return {};
    const Tensor& k = example.inputs.at("k");
    std::vector<std::string> causes;
    Index times = 0;
    for (const auto& [factor, cause] : {std::pair{k.extent(0), "without heads"},
                                        {k.extent(2), "without head_dim"},
                                        {Index{4}, "of numbers where MPI_BYTE counts bytes"}}) {
      if (factor < 2 || (times != 0 && factor != times) ||
          !sent_bytes_of_hops(hops, example, outcome, factor))
        continue;
      times = factor;
      causes.push_back(cause);
    }
    if (causes.empty()) return {};
    return {{"", fmt::format("every rank sent 1/{} of the bytes of its hops, as by a count {}", times,
                             fmt::join(causes, ", or "))}};
  };
}

std::vector<Finding> gives_no_empty_block(const Played& played) {
  if (!is_right(played)) return {};
  const std::vector<Calls> by_rank = read(*played.example, *played.outcome);
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const auto scores = played.outcome->outputs[rank].find(block_log::scores_output);
    if (scores == played.outcome->outputs[rank].end()) continue;
    const std::size_t calls = std::min(scores->second.values().size(), by_rank[rank].size());
    for (std::size_t call = 0; call < calls; ++call) {
      if (scores->second.values()[call] > 0) continue;
      return {{"empty_block_computed",
               fmt::format("rank {}: block.accumulate was given the block of rank {}, of which no query of "
                           "rank {} sees a key",
                           rank, by_rank[rank][call].owner, rank)}};
    }
  }
  return {};
}

}  // namespace course::log_reading
