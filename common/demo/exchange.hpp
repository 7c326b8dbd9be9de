#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "demo/demonstration.hpp"
#include "demo/load.hpp"

/// What the demo knows of each exchange that --exchange names. A further one is a row of ring_kinds
/// (registry/registry.hpp) and an entry of the table in exchange.cpp.
namespace course::demo {

/// What ranks send on one way of an exchange, in both passes together.
struct Way {
  std::string name;                 ///< "there": a column, and in JSON bytes_there
  std::vector<std::int64_t> bytes;  ///< by the rank that sends
};

/// Who computes what, and what has to be sent for that.
struct ExchangeShares {
  std::vector<Index> heads, kv_heads;  ///< by rank: of queries, and of keys that these look at
  std::vector<Way> ways;
  Index times = 1;  ///< how often each head is there, every time for other tokens

  int idle_ranks() const;  ///< that have no heads
  /// By rank, on all ways.
  std::vector<std::int64_t> bytes_to_send() const;
};

/// Of the exchange that is shown.
ExchangeShares shares_of(const Demonstration& shown);

/// By rank, whose keys it computes with at each step: as a ring's blocks come, or as the exchange names them.
OwnersByStep owners_by_step(const Demonstration& shown);

/// The scores of all heads that a rank computes in the exchange that is shown, by its steps.
WorkTable scores_of_exchange(const Demonstration& shown);

/// The sizes of an exchange by the names of its function's arguments, which options or the number of ranks
/// say: "ulysses" of a grid, "node" of a double ring, "kv_heads_at_once" of a gather; empty for any other.
/// Throws UsageError for sizes that do not fit the ranks, and for options of another exchange.
std::map<std::string, Index> exchange_sizes(const Options& options);

/// Throws UsageError where the key heads that a gather takes at once do not divide those of the input.
void require_sizes_fit(const Demonstration& shown);

/// "groups of 2 ranks, in rings of 4", "2 nodes of 4 ranks", "1 key head at once"; empty where there are no
/// sizes.
std::string sizes_in_words(const Demonstration& shown);

/// How many consecutive ranks are meant to share a node; 0 where the exchange does not say.
Index ranks_of_node(const Demonstration& shown);

/// The outputs of the forward function that the backward one is given, and no q, k, v, o and lse beside them;
/// empty: it is given those.
std::vector<std::string> kept_by(const Demonstration& shown);

}  // namespace course::demo
