#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/exchange/examples.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/grids/grids.hpp"
#include "judge/attention/grouped/examples.hpp"
#include "judge/attention/grouped/rings.hpp"
#include "judge/checks/traffic_checks.hpp"
#include "judge/refusal.hpp"
#include "ring/shards.hpp"

namespace course::grids {

namespace {

int node_of(const Example& example) {
  return static_cast<int>(integer(example, "node"));
}

int nodes_of(const Example& example) {
  return example.ranks() / node_of(example);
}

std::vector<Example> double_rings(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (int node = 1; node <= ranks; ++node) {
    if (ranks % node != 0) continue;
    const bool flat = node == 1 || node == ranks;
    const auto add = [&](const char* what, const Layout& layout, const grouped::Sizes& sizes, bool causal) {
      all.push_back(in_nodes(generator, node, what, layout, sizes, causal));
    };
    add("equal shards, not causal", Layout(std::vector<int>(ranks, 3)), {4, 2, 4, 4}, false);
    if (flat) continue;
    add("zigzag", Layout::named("zigzag", 2 * ranks + 3, ranks), {3, 3, 3, 3}, true);
    add("unequal shards in any order", exchange::any_layout(generator, ranks), {4, 1, 5, 5}, true);
    if (ranks != grouped::ranks_of_large_blocks) continue;
    add("blocks of half a megabyte", Layout(std::vector<int>(ranks, 2)), {8, 8, 4096, 4096}, true);
    all.back().large = true;
  }
  const int other = ranks % 3 == 0 ? 4 : 3;
  for (const int node : {other, 0}) {
    Example refused = in_nodes(generator, 1, "", Layout(std::vector<int>(ranks, 2)), {2, 1, 2, 2}, false);
    refused.what = fmt::format("refusing nodes of {} in a world of {}", node, ranks);
    refused.arguments["node"] = {double(node)};
    all.push_back(refusal::refusing(std::move(refused), {double(node), double(ranks)}));
  }
  return all;
}

/// A rank may send to the next of its node, and to the same place of the next node.
int next_in_node(const Example& example, int rank) {
  const int node = node_of(example);
  return rank / node * node + (rank + 1) % node;
}

int in_next_node(const Example& example, int rank) {
  return (rank + node_of(example)) % example.ranks();
}

std::int64_t needed_in_nodes(const Example& example, int from, int to) {
  if (refusal::is_refused(example)) return 0;
  const std::int64_t block = grouped::bytes_of_longest(grouped::bytes_of_tokens, example);
  std::int64_t blocks = 0;
  if (to == next_in_node(example, from)) blocks += nodes_of(example) * (node_of(example) - 1);
  if (to == in_next_node(example, from)) blocks += nodes_of(example) - 1;
  return blocks * block;
}

std::string neighbours_of(const Example& example, int rank) {
  const std::string inside =
      node_of(example) == 1 ? "" : fmt::format("rank {} in its node and to ", next_in_node(example, rank));
  return fmt::format("rank {} sends to {}rank {} in the next", rank, inside, in_next_node(example, rank));
}

/// The rooms, a copy of one's own block, a state and what is given back, and as much for MPI.
std::int64_t memory_of_blocks(const Example& example) {
  if (!example.large) return std::numeric_limits<std::int64_t>::max();
  return ((nodes_of(example) > 2 ? 4 : 3) + 4) * grouped::bytes_of_longest(grouped::bytes_of_tokens, example);
}

/// Where all blocks are as long: in each round of the inner ring a block leaves for the next node before the
/// round has come to its end, and in the first round, in which every rank has a block to compute, the rank
/// computes before it waits for what the node before sends.
std::optional<Finding> wrong_order(const Example& example, const std::vector<RankStep>& steps, int rank) {
  const int node = node_of(example), ranks = example.ranks(), next = in_next_node(example, rank),
            before = (rank + ranks - node) % ranks, in_node = rank / node * node + (rank + node - 1) % node;
  const std::int64_t block = grouped::bytes_of_longest(grouped::bytes_of_tokens, example);
  std::int64_t came_inside = 0, left = 0;
  bool computed = false;
  for (const auto& [kind, peer, bytes] : steps) {
    if (kind == RankStep::Kind::Has && peer == in_node) came_inside += bytes;
    if (left > 0 && kind == RankStep::Kind::Computes) computed = true;
    if (kind == RankStep::Kind::Sends && peer == next) {
      const std::int64_t round = left / block;
      if (came_inside >= (round + 1) * (node - 1) * block)
        return Finding{
            "outer_sends_last_held",
            fmt::format("rank {}: the send to rank {} began after the last inner hop of round {}; the "
                        "block that entered the node can leave it at once",
                        rank, next, round + 1)};
      left += bytes;
    }
    if (kind == RankStep::Kind::Has && peer == before && !computed)
      return Finding{
          "", fmt::format("rank {} waited for what rank {} sends before it had computed on a block meanwhile",
                          rank, before)};
  }
  return std::nullopt;
}

/// Told of a send to the next node that goes on only when the receive has begun: the rank computes nothing
/// meanwhile, whatever the order of its calls.
std::vector<Finding> sends_on_by_nonblocking_calls(const Example& example, const Outcome& outcome) {
  static const std::set<std::string> blocking{"MPI_Send",  "MPI_Ssend",    "MPI_Rsend",
                                              "MPI_Bsend", "MPI_Sendrecv", "MPI_Sendrecv_replace"};
  if (refusal::is_refused(example) || node_of(example) == 1 || nodes_of(example) == 1) return {};
  for (std::size_t rank = 0; rank < outcome.reports.size(); ++rank) {
    for (const Sent& sent : outcome.reports[rank].traffic) {
      if (sent.to == in_next_node(example, static_cast<int>(rank)) && blocking.contains(sent.call))
        return {
            {"", fmt::format("rank {} sent to rank {} by {}, which may wait for it; what goes to the next "
                             "node is sent by a nonblocking call",
                             rank, sent.to, sent.call)}};
    }
  }
  return {};
}

/// Told by the order of events on each rank, of which a clock would say nothing.
std::vector<Finding> sends_on_while_the_ring_turns(const Example& example, const Outcome& outcome) {
  const std::vector<int> shards = example.layout.shard_tokens();
  const bool equal = shards.front() > 0 && std::ranges::count(shards, shards.front()) == std::ssize(shards);
  if (!equal || refusal::is_refused(example) || node_of(example) == 1 || nodes_of(example) == 1) return {};
  for (std::size_t rank = 0; rank < outcome.reports.size(); ++rank) {
    if (const auto wrong = wrong_order(example, outcome.reports[rank].steps, static_cast<int>(rank)))
      return {*wrong};
  }
  return {};
}

}  // namespace

Example in_nodes(InputGenerator& generator, int node, const std::string& what, const Layout& layout,
                 const grouped::Sizes& sizes, bool causal) {
  Example example = exchange::attention_example(
      generator, fmt::format("{} nodes of {}, {}", layout.ranks() / node, node, what), layout, sizes, causal,
      Topology::double_ring(node));
  example.arguments["node"] = {double(node)};
  return example;
}

Task double_ring_task(std::string id, std::string function) {
  using namespace checks;
  Task task = refusal::with_refusals_of_ranks(grouped::forward_task(std::move(id), std::move(function)));
  task.examples = double_rings;
  task.communication_checks = {
      first_of({without_fact(fact_world, ""), sends_by_the_map(needed_in_nodes, neighbours_of, "")}),
      uses_only_known_calls(),
      stays_in_its_memory(),
      completes_its_requests(""),
      frees_what_it_makes(""),
      first_of({sends_on_while_the_ring_turns, sends_on_by_nonblocking_calls}),
      passes_tensors_by_messages(""),
      uses_memory_at_most(memory_of_blocks, ""),
      tells_null_peers};
  return log_reading::looked_at(std::move(task), sizes_in_words("node"), true);
}

}  // namespace course::grids
