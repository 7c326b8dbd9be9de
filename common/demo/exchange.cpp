#include "demo/exchange.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "protocol/errors.hpp"
#include "ring/head_share.hpp"

namespace course::demo {

namespace {

using Tokens = std::vector<Index>;  ///< positions, ascending

/// Query heads dealt out in order among so many ranks, and the key heads that these look at: who has none has
/// neither. `times` deals them out as often, to further ranks.
ExchangeShares dealt_out(const Demonstration& shown, Index ranks, Index times = 1) {
  ExchangeShares shares{.heads = {}, .kv_heads = {}, .ways = {}, .times = times};
  for (int rank = 0; rank < static_cast<int>(ranks * times); ++rank) {
    const HeadShare own = head_share(shown.input.heads(), shown.input.kv_heads(), static_cast<int>(ranks),
                                     rank % static_cast<int>(ranks));
    shares.heads.push_back(own.last - own.first);
    shares.kv_heads.push_back(own.kv_last - own.kv_first);
  }
  return shares;
}

/// A way by rank, of numbers(rank).
template <class Numbers>
Way way(const char* name, int ranks, Numbers numbers) {
  Way made{name, {}};
  for (int rank = 0; rank < ranks; ++rank)
    made.bytes.push_back(numbers(rank) * static_cast<std::int64_t>(sizeof(float)));
  return made;
}

/// numbers(from, to) for each other rank among `group` consecutive ones.
template <class Numbers>
auto to_others(Index group, Numbers numbers) {
  return [=](int from) {
    const int first = static_cast<int>(from / group * group);
    std::int64_t all = 0;
    for (int to = first; to < first + group; ++to)
      if (from != to) all += numbers(from, to);
    return all;
  };
}

// ---- ulysses ----

/// There q, k and v, and backward d_o; back o and lse, and backward dq, dk and dv.
ExchangeShares ulysses(const Demonstration& shown) {
  const std::vector<int> tokens = shown.layout().shard_tokens();
  const Index width = shown.input.head_dim();
  ExchangeShares shares = dealt_out(shown, shown.ranks);
  const auto &heads = shares.heads, &kv_heads = shares.kv_heads;
  const Index passes = shown.backward ? 2 : 1;
  const auto there = [&](int from, int to) {
    return tokens[from] * width * (passes * heads[to] + 2 * kv_heads[to]);
  };
  const auto back = [&](int from, int to) {
    const Index gradients = shown.backward ? 2 * kv_heads[from] : 0;
    return tokens[to] * (width * (passes * heads[from] + gradients) + heads[from]);
  };
  shares.ways = {way("there", shown.ranks, to_others(shown.ranks, there)),
                 way("back", shown.ranks, to_others(shown.ranks, back))};
  return shares;
}

// ---- grid ----

int groups_of(const Demonstration& shown) {
  return static_cast<int>(shown.ranks / shown.exchange_sizes.at("ulysses"));
}

/// That of a rank, or the `count` ranks before it in its ring; -1 is the last.
int group_of(const Demonstration& shown, int rank, int count = 0) {
  const int groups = groups_of(shown), own = rank / static_cast<int>(shown.exchange_sizes.at("ulysses"));
  return (own + groups - count) % groups;
}

Tokens tokens_of_group(const Demonstration& shown, int group) {
  const int ulysses = static_cast<int>(shown.exchange_sizes.at("ulysses"));
  const Layout layout = shown.layout();
  Tokens all;
  for (int rank = group * ulysses; rank < (group + 1) * ulysses; ++rank)
    std::ranges::copy(layout.positions(rank), std::back_inserter(all));
  std::ranges::sort(all);
  return all;
}

/// Inside, there q, k and v and back o and lse, then there q, k, v, o, lse and d_o and back dq, dk and dv;
/// between, k and v, and dk and dv, which make a hop more, home.
ExchangeShares grid(const Demonstration& shown) {
  const std::vector<int> tokens = shown.layout().shard_tokens();
  const Index width = shown.input.head_dim(), ulysses = shown.exchange_sizes.at("ulysses");
  const int groups = groups_of(shown);
  ExchangeShares shares = dealt_out(shown, ulysses, groups);
  const auto &heads = shares.heads, &kv_heads = shares.kv_heads;
  const auto inside = [&](int from, int to) {
    const auto keys = [&](int rank) { return width * 2 * kv_heads[rank]; };
    const auto queries = [&](int rank) { return width * heads[rank]; };
    Index there = queries(to) + keys(to), back = queries(from) + heads[from];
    if (shown.backward) {
      there += 3 * queries(to) + heads[to] + keys(to);
      back += queries(from) + keys(from);
    }
    return tokens[from] * there + tokens[to] * back;
  };
  std::vector<Index> of_group(static_cast<std::size_t>(groups), 0);
  for (int rank = 0; rank < shown.ranks; ++rank) of_group[group_of(shown, rank)] += tokens[rank];
  const auto between = [&](int rank) {
    Index rows = 0;
    for (int hop = 0; hop + 1 < groups; ++hop)
      rows += of_group[group_of(shown, rank, hop)] * (shown.backward ? 2 : 1);
    if (shown.backward && groups > 1) rows += shown.input.seq();
    return rows * 2 * kv_heads[rank] * width;
  };
  shares.ways = {way("inside", shown.ranks, to_others(ulysses, inside)),
                 way("between", shown.ranks, between)};
  return shares;
}

// ---- gather ----

/// k and v of every rank to every other one, in both passes; and backward what a rank adds to another's rows
/// of dk and dv.
ExchangeShares gather(const Demonstration& shown) {
  const std::vector<int> tokens = shown.layout().shard_tokens();
  const Index of_token = 2 * shown.input.kv_heads() * shown.input.head_dim();
  const Index passes = shown.backward ? 2 : 1;
  ExchangeShares shares = dealt_out(shown, 1, shown.ranks);
  shares.ways = {way("gathered", shown.ranks, to_others(shown.ranks, [&](int from, int) {
                       return tokens[from] * of_token * passes;
                     }))};
  if (shown.backward)
    shares.ways.push_back(way("scattered", shown.ranks,
                              to_others(shown.ranks, [&](int, int to) { return tokens[to] * of_token; })));
  return shares;
}

// ---- double ring ----

/// Whose block a rank holds at a step: inside a node from rank to rank, and then from node to node.
int owner_in_double_ring(const Demonstration& shown, int rank, int step) {
  const int node = static_cast<int>(shown.exchange_sizes.at("node")), nodes = shown.ranks / node;
  const int inner = step % node, outer = step / node;
  return (rank % node + node - inner) % node + node * ((rank / node + nodes - outer) % nodes);
}

/// k and v inside the node once less than it has ranks, on every node; between nodes once less than there
/// are.
ExchangeShares double_ring(const Demonstration& shown) {
  const std::vector<int> tokens = shown.layout().shard_tokens();
  const Index of_token = 2 * shown.input.kv_heads() * shown.input.head_dim();
  const int node = static_cast<int>(shown.exchange_sizes.at("node"));
  const auto held = [&](int rank, int step) {
    return tokens[owner_in_double_ring(shown, rank, step)] * of_token;
  };
  const auto inside = [&](int rank) {
    Index all = 0;
    for (int step = 0; step < shown.ranks; ++step)
      if (step % node != node - 1) all += held(rank, step);
    return all;
  };
  const auto between = [&](int rank) {
    Index all = 0;
    for (int step = 0; step + node < shown.ranks; step += node) all += held(rank, step);
    return all;
  };
  ExchangeShares shares = dealt_out(shown, 1, shown.ranks);
  shares.ways = {way("inside", shown.ranks, inside), way("between", shown.ranks, between)};
  return shares;
}

// ---- all of them ----

Tokens all_tokens(const Demonstration& shown, int) {
  Tokens all(static_cast<std::size_t>(shown.input.seq()));
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

Tokens tokens_of_rank(const Demonstration& shown, int rank) {
  return shown.layout().positions(rank);
}

int one_step(const Demonstration&) {
  return 1;
}
int own_rank(const Demonstration&, int rank, int) {
  return rank;
}

struct Exchange {
  const char* name;  ///< as --exchange takes it
  ExchangeShares (*shares)(const Demonstration&);
  std::vector<std::string> kept;

  int (*steps)(const Demonstration&);
  int (*owner)(const Demonstration&, int rank, int step);  ///< as the rank's blocks name it
  Tokens (*queries)(const Demonstration&, int rank);       ///< of the heads that the rank has
  Tokens (*keys)(const Demonstration&, int owner);
};

/// Throws std::logic_error for an exchange of ring_kinds that is not in the table.
const Exchange& exchange_of(const Demonstration& shown) {
  static const std::vector<Exchange> all{
      {"ulysses",
       ulysses,
       {"kept_q", "kept_k", "kept_v", "kept_o", "kept_lse"},
       one_step,
       own_rank,
       all_tokens,
       all_tokens},
      {"gather", gather, {}, one_step, own_rank, tokens_of_rank, all_tokens},
      {"grid",
       grid,
       {},
       groups_of,
       group_of,
       [](const Demonstration& on, int rank) { return tokens_of_group(on, group_of(on, rank)); },
       tokens_of_group},
      {"double-ring",
       double_ring,
       {},
       [](const Demonstration& on) { return on.ranks; },
       owner_in_double_ring,
       tokens_of_rank,
       tokens_of_rank}};
  const std::string& name = shown.rings.front().name;
  const auto found = std::ranges::find(all, name, &Exchange::name);
  if (found == all.end()) throw std::logic_error("nobody says what the exchange " + name + " sends");
  return *found;
}

// ---- sizes ----

/// Throws UsageError: "--node 3 --ranks 8: 3 does not divide 8 ranks, expected 1, 2, 4, 8".
void require_divides(const std::string& options, Index part, Index whole, const std::string& of) {
  if (whole % part == 0) return;
  throw UsageError(fmt::format("{}: {} does not divide {} {}, expected {}", options, part, whole, of,
                               fmt::join(divisors_of(whole), ", ")));
}

/// The smallest but 1 of the numbers that divide the ranks, which is 1 of one rank alone.
Index smallest_divisor(int ranks) {
  return divisors_of(ranks)[ranks > 1 ? 1 : 0];
}

/// U of UxR, which has to be as many ranks as there are.
Index ulysses_of(const std::string& grid, int ranks) {
  const auto number = [](std::string_view text) -> Index {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : 0;
  };
  const std::size_t cross = std::min(grid.find('x'), grid.size());
  const Index u = number(std::string_view(grid).substr(0, cross)),
              r = cross == grid.size() ? 0 : number(std::string_view(grid).substr(cross + 1));
  if (u < 1 || r < 1)
    throw UsageError(fmt::format(
        "--grid {}: expected UxR, R groups of U ranks that exchange tokens for heads, such as 2x4", grid));
  if (u * r != ranks)
    throw UsageError(
        fmt::format("--grid {} --ranks {}: {} x {} are {} ranks, not {}", grid, ranks, u, r, u * r, ranks));
  return u;
}

}  // namespace

int ExchangeShares::idle_ranks() const {
  return static_cast<int>(std::ranges::count(heads, 0));
}

std::vector<std::int64_t> ExchangeShares::bytes_to_send() const {
  std::vector<std::int64_t> bytes(heads.size(), 0);
  for (const Way& one : ways) std::ranges::transform(bytes, one.bytes, bytes.begin(), std::plus());
  return bytes;
}

ExchangeShares shares_of(const Demonstration& shown) {
  return exchange_of(shown).shares(shown);
}

OwnersByStep owners_by_step(const Demonstration& shown) {
  if (!shown.is_exchange()) return ring_owners(shown.ranks);
  const Exchange& exchange = exchange_of(shown);
  OwnersByStep owners(static_cast<std::size_t>(shown.ranks));
  for (int rank = 0; rank < shown.ranks; ++rank) {
    for (int step = 0; step < exchange.steps(shown); ++step)
      owners[rank].push_back(exchange.owner(shown, rank, step));
  }
  return owners;
}

WorkTable scores_of_exchange(const Demonstration& shown) {
  const Exchange& exchange = exchange_of(shown);
  const std::vector<Index> heads = shares_of(shown).heads;
  const OwnersByStep owners = owners_by_step(shown);
  const reference::Mask mask = shown.mask();
  WorkTable scores = empty_table(heads.size());
  for (int rank = 0; rank < shown.ranks; ++rank) {
    const Tokens queries = exchange.queries(shown, rank);
    for (std::size_t step = 0; step < owners[rank].size(); ++step)
      scores[rank][step] =
          static_cast<double>(heads[rank] * mask.work(queries, exchange.keys(shown, owners[rank][step])));
  }
  return scores;
}

std::map<std::string, Index> exchange_sizes(const Options& options) {
  const auto takes = [&](const char* exchange, const char* option, bool given) {
    const bool shown = options.exchange == exchange;
    if (given && !shown)
      throw UsageError(
          fmt::format("{} --exchange {}: only --exchange {} takes it", option, options.exchange, exchange));
    return shown;
  };
  std::map<std::string, Index> sizes;
  if (takes("grid", "--grid", !options.grid.empty()))
    sizes["ulysses"] =
        options.grid.empty() ? smallest_divisor(options.ranks) : ulysses_of(options.grid, options.ranks);
  if (takes("double-ring", "--node", options.node > 0)) {
    sizes["node"] = options.node > 0 ? options.node : smallest_divisor(options.ranks);
    require_divides(fmt::format("--node {} --ranks {}", options.node, options.ranks), sizes["node"],
                    options.ranks, "ranks");
  }
  if (takes("gather", "--kv-heads-at-once", options.kv_heads_at_once > 0))
    sizes["kv_heads_at_once"] = std::max<Index>(1, options.kv_heads_at_once);
  return sizes;
}

void require_sizes_fit(const Demonstration& shown) {
  const auto at_once = shown.exchange_sizes.find("kv_heads_at_once");
  if (at_once != shown.exchange_sizes.end())
    require_divides(fmt::format("--kv-heads-at-once {}", at_once->second), at_once->second,
                    shown.input.kv_heads(), "key heads");
}

std::string sizes_in_words(const Demonstration& shown) {
  if (shown.exchange_sizes.empty()) return "";
  const auto& [name, size] = *shown.exchange_sizes.begin();
  if (name == "kv_heads_at_once") return timed::plural(size, "key head") + " at once";
  const Index others = shown.ranks / size;
  return name == "node" ? fmt::format("{} of {}", timed::plural(others, "node"), timed::plural(size, "rank"))
                        : fmt::format("groups of {}, in rings of {}", timed::plural(size, "rank"), others);
}

Index ranks_of_node(const Demonstration& shown) {
  for (const auto& [name, size] : shown.exchange_sizes)
    if (name == "ulysses" || name == "node") return size;
  return 0;
}

std::vector<std::string> kept_by(const Demonstration& shown) {
  return shown.is_exchange() ? exchange_of(shown).kept : std::vector<std::string>{};
}

}  // namespace course::demo
