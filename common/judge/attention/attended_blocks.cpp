#include "judge/attention/attended_blocks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "judge/attention/forward.hpp"
#include "judge/attention/ring/ring_mask.hpp"
#include "judge/checks/communication_checks.hpp"
#include "ring/shards.hpp"
#include "text/text_file.hpp"

namespace course::log_reading {

namespace {

constexpr int nobody = -1;

/// A logged block. `k_of` and `v_of` are ranks, or nobody where the data are no rank's whole shard.
struct Attended {
  int owner;  ///< as the function named it
  int keys;
  int k_of;
  int v_of;
  int exchanged;                     ///< the rank whose V was given as K and whose K as V, or nobody
  std::optional<Index> scores = {};  ///< under a mask, how many its ranges have
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

/// By call, how many scores the ranges have that a rank gave with a block. Empty without a mask.
std::vector<float> scores_given(const Outcome& outcome, int rank) {
  const auto scores = outcome.outputs[rank].find(block_log::scores_output);
  return scores == outcome.outputs[rank].end() ? std::vector<float>() : scores->second.values();
}

/// By rank.
std::vector<Calls> read(const Example& example, const Outcome& outcome) {
  std::vector<Calls> by_rank(example.ranks());
  if (outcome.outputs.empty()) return by_rank;
  const std::vector<float> k = fingerprints(example, "k"), v = fingerprints(example, "v");
  for (int rank = 0; rank < example.ranks(); ++rank) {
    const auto log = outcome.outputs[rank].find(block_log::output);
    if (log == outcome.outputs[rank].end()) continue;
    const std::vector<float> scores = scores_given(outcome, rank);
    for (int call = 0; call < log->second.extent(0); ++call) {
      const std::span<const float> row = log->second.matrix().row(call);
      const int likely = holder(example, rank, call);
      Attended attended{static_cast<int>(row[0]), static_cast<int>(row[1]), whose(k, row[2], likely),
                        whose(v, row[3], likely), whose(v, row[2], likely)};
      if (attended.k_of != nobody || whose(k, row[3], likely) != attended.exchanged)
        attended.exchanged = nobody;
      if (call < std::ssize(scores)) attended.scores = static_cast<Index>(scores[call]);
      by_rank[rank].push_back(attended);
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

/// Something wrong with what a rank attended to.
struct Wrong {
  int hop;
  std::string text;
};

/// The first call of one rank that was not given what it should, where each block is attended to.
std::optional<Wrong> first_wrong_call(const Example& example, const Outcome& outcome, const Calls& calls,
                                      int rank) {
  const int world_size = example.ranks();
  int hop = 0;
  for (const Attended& call : calls) {
    // Somebody who leaves empty blocks out calls less often than there are hops.
    while (call.keys > 0 && hop < world_size && !is_needed(example, rank, holder(example, rank, hop))) ++hop;
    if (hop >= world_size) {
      return Wrong{hop,
                   fmt::format("rank {} attended to more blocks than the {} there are", rank, world_size)};
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
                                    calls.size(), world_size, missing)};
    }
  }
  return std::nullopt;
}

/// "the block of rank 2", "the blocks of ranks 0 and 3"
std::string blocks_of(const std::vector<int>& ranks) {
  return fmt::format("the block{} of rank{} {}", ranks.size() > 1 ? "s" : "", ranks.size() > 1 ? "s" : "",
                     listed(ranks));
}

/// What is wrong with a call by itself: its data are no rank's whole block, or once more another block than
/// the one that the function named.
std::string wrong_with_call(const Example& example, const Calls& calls, std::size_t call, int rank) {
  const Attended& one = calls[call];
  const std::string before = fmt::format("rank {}, call {} of block.accumulate: ", rank, call + 1);
  if (one.owner < 0 || one.owner >= example.ranks())
    return before + fmt::format("was told that the block is rank {}'s; there is no such rank", one.owner);
  const bool is_whole = one.k_of != nobody && one.k_of == one.v_of;  // no part, and not two ranks' data
  const bool came_before =
      std::any_of(calls.begin(), calls.begin() + static_cast<Index>(call),
                  [&](const Attended& other) { return other.keys > 0 && other.k_of == one.k_of; });
  if (!is_whole) return before + given(example, calls, call, one.owner);
  if (!came_before || one.owner == one.k_of) return "";
  return before +
         fmt::format(
             "the function named rank {} as the owner, and gave rank {}'s block, as a call before it did",
             one.owner, one.k_of);
}

/// Which blocks a rank attended to, among those that it should and should not, where each call was given a
/// whole block: after all that is wrong with a call, and first of the ranks that lack a block. One without a
/// key in its ranges changes nothing.
std::optional<Wrong> wrong_blocks(const Example& example, const Calls& calls, int rank) {
  const int after_calls = example.ranks();
  std::vector<int> missing, not_seen;
  for (int owner = 0; owner < example.ranks(); ++owner) {
    const auto is_of_owner = [&](const Attended& call) { return call.keys > 0 && call.k_of == owner; };
    const auto shows_a_key = [&](const Attended& call) {
      return is_of_owner(call) && call.scores.value_or(1) > 0;
    };
    const auto times = std::ranges::count_if(calls, shows_a_key);
    if (times > 1) {
      return Wrong{after_calls,
                   fmt::format("rank {} attended to the block of rank {} more than once", rank, owner)};
    }
    const bool is_seen = is_needed(example, rank, owner);
    if (is_seen && std::ranges::none_of(calls, is_of_owner)) missing.push_back(owner);
    if (!is_seen && times > 0) not_seen.push_back(owner);
  }
  std::string text;
  if (!missing.empty())
    text = fmt::format("did not attend to {}, of which its queries see keys", blocks_of(missing));
  if (!not_seen.empty())
    text += fmt::format("{}attended to {}, of which {} see no key", missing.empty() ? "" : ", and ",
                        blocks_of(not_seen), missing.empty() ? "its queries" : "they");
  if (text.empty()) return std::nullopt;
  return Wrong{missing.empty() ? after_calls + 1 : after_calls, fmt::format("rank {} {}", rank, text)};
}

/// Under a mask a rank leaves blocks out, so that only a call's data say after how many hops it was made.
std::optional<Wrong> first_wrong_under_mask(const Example& example, const Calls& calls, int rank) {
  for (std::size_t call = 0; call < calls.size(); ++call) {
    if (calls[call].keys == 0) continue;
    const std::string wrong = wrong_with_call(example, calls, call, rank);
    if (!wrong.empty()) return Wrong{static_cast<int>(call), wrong};
  }
  return wrong_blocks(example, calls, rank);
}

/// The first thing wrong with what one rank attended to.
std::optional<Wrong> first_wrong(const Example& example, const Outcome& outcome, const Calls& calls,
                                 int rank) {
  return ring_mask::is_masked(example) ? first_wrong_under_mask(example, calls, rank)
                                       : first_wrong_call(example, outcome, calls, rank);
}

/// "rank 1: its ranges for the block of rank 0 show 8 scores in all, and should show 12": the first block
/// whose ranges show more scores, of a query and a key each, or fewer than its queries see. Empty where none
/// does.
std::string wrong_ranges(const Example& example, const std::vector<Calls>& by_rank) {
  for (int rank = 0; rank < std::ssize(by_rank); ++rank) {
    for (const Attended& call : by_rank[rank]) {
      if (call.k_of == nobody || !call.scores) continue;
      const Index seen =
          keys_seen(example).work(example.layout.positions(rank), example.layout.positions(call.k_of));
      if (*call.scores == seen) continue;
      return fmt::format(
          "rank {}: its ranges for the block of rank {} show {} scores in all, and should show {}", rank,
          call.k_of, *call.scores, seen);
    }
  }
  return "";
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
    if (const std::string ranges = wrong_ranges(example, by_rank); !ranges.empty()) return ranges;
    const std::string more = blocks_right(played);
    if (more.empty() || example.ranks() == 1) return more;
    return "every rank was given the right blocks: " + more;
  };
}

Task looked_at(Task task, BlocksRight blocks_right, bool masked) {
  task.logs[block_log::output] = block_log::columns;
  task.communication_checks.push_back(names_the_owners);
  task.answer_checks.push_back(gives_each_block_once);
  if (masked) {
    task.logs[block_log::scores_output] = 1;
    task.answer_checks.push_back(gives_no_empty_block);
  }
  task.explain = explaining(std::move(blocks_right));
  return task;
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
      return {{counts_forward(by_rank) ? "owner_off" : "",
               fmt::format(
                   "rank {}, call {}: block.accumulate was told that the block is rank {}'s; it is rank {}'s",
                   rank, &call - by_rank[rank].data() + 1, call.owner, call.k_of)}};
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
    if (example.ranks() < 2 || std::ranges::none_of(read(example, outcome), is_nobodys)) return {};
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

std::vector<Finding> gives_each_block_once(const Played& played) {
  if (!is_right(played)) return {};
  const Example& example = *played.example;
  const std::vector<Calls> by_rank = read(example, *played.outcome);
  for (int rank = 0; rank < example.ranks(); ++rank) {
    if (std::ssize(by_rank[rank]) <= example.ranks()) continue;
    return {
        {"",
         fmt::format(
             "rank {} called block.accumulate {} times; there {} {} block{}, and each is to be given once",
             rank, by_rank[rank].size(), example.ranks() == 1 ? "is" : "are", example.ranks(),
             example.ranks() == 1 ? "" : "s")}};
  }
  return {};
}

std::vector<Finding> gives_no_empty_block(const Played& played) {
  if (!is_right(played)) return {};
  const std::vector<Calls> by_rank = read(*played.example, *played.outcome);
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    for (const Attended& call : by_rank[rank]) {
      if (call.scores.value_or(1) > 0) continue;
      return {{"empty_block_computed",
               fmt::format("rank {}: block.accumulate was given the block of rank {}, of which no query of "
                           "rank {} sees a key",
                           rank, call.k_of == nobody ? call.owner : call.k_of, rank)}};
    }
  }
  return {};
}

}  // namespace course::log_reading
