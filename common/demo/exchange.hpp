#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "demo/demonstration.hpp"

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

  int idle_ranks() const;  ///< that have no heads
  /// By rank, on all ways.
  std::vector<std::int64_t> bytes_to_send() const;
};

/// Of the exchange that is shown.
ExchangeShares shares_of(const Demonstration& shown);

/// The outputs of the forward function that the backward one is given, and no q, k, v, o and lse beside them;
/// empty: it is given those.
std::vector<std::string> kept_by(const Demonstration& shown);

}  // namespace course::demo
