#include "demo/exchange.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "ring/shards.hpp"

namespace course::demo {

namespace {

/// Query heads dealt out in order, and the key heads that these look at: who has none has neither.
ExchangeShares dealt_out(Index heads, Index kv_heads, int ranks) {
  const Index group = heads / kv_heads;
  ExchangeShares shares;
  Index first = 0;
  for (const int own : even_shards(static_cast<int>(heads), ranks)) {
    shares.heads.push_back(own);
    shares.kv_heads.push_back(own == 0 ? 0 : (first + own - 1) / group - first / group + 1);
    first += own;
  }
  return shares;
}

/// By the rank that sends: numbers(from, to) for each other rank.
template <class Numbers>
std::vector<std::int64_t> bytes_to_others(int ranks, Numbers numbers) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(ranks), 0);
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to)
      if (from != to) bytes[from] += numbers(from, to) * static_cast<std::int64_t>(sizeof(float));
  }
  return bytes;
}

/// There q, k and v, and backward d_o; back o and lse, and backward dq, dk and dv.
ExchangeShares ulysses(const Demonstration& shown) {
  const std::vector<int> tokens = shown.layout().shard_tokens();
  const Index width = shown.input.head_dim();
  ExchangeShares shares = dealt_out(shown.input.heads(), shown.input.kv_heads(), shown.ranks);
  const auto &heads = shares.heads, &kv_heads = shares.kv_heads;
  const Index passes = shown.backward ? 2 : 1;
  const auto there = [&](int from, int to) {
    return tokens[from] * width * (passes * heads[to] + 2 * kv_heads[to]);
  };
  const auto back = [&](int from, int to) {
    const Index gradients = shown.backward ? 2 * kv_heads[from] : 0;
    return tokens[to] * (width * (passes * heads[from] + gradients) + heads[from]);
  };
  shares.ways = {{"there", bytes_to_others(shown.ranks, there)},
                 {"back", bytes_to_others(shown.ranks, back)}};
  return shares;
}

struct Exchange {
  const char* name;  ///< as --exchange takes it
  ExchangeShares (*shares)(const Demonstration&);
  std::vector<std::string> kept;
};

/// Throws std::logic_error for an exchange of ring_kinds that is not in the table.
const Exchange& exchange_of(const Demonstration& shown) {
  static const std::vector<Exchange> all{
      {"ulysses", ulysses, {"kept_q", "kept_k", "kept_v", "kept_o", "kept_lse"}}};
  const std::string& name = shown.rings.front().name;
  const auto found = std::ranges::find(all, name, &Exchange::name);
  if (found == all.end()) throw std::logic_error("nobody says what the exchange " + name + " sends");
  return *found;
}

}  // namespace

int ExchangeShares::idle_ranks() const {
  return static_cast<int>(std::ranges::count(heads, 0));
}

std::vector<std::int64_t> ExchangeShares::bytes_to_send() const {
  std::vector<std::int64_t> bytes(heads.size(), 0);
  for (const Way& way : ways) std::ranges::transform(bytes, way.bytes, bytes.begin(), std::plus());
  return bytes;
}

ExchangeShares shares_of(const Demonstration& shown) {
  return exchange_of(shown).shares(shown);
}

std::vector<std::string> kept_by(const Demonstration& shown) {
  return shown.is_exchange() ? exchange_of(shown).kept : std::vector<std::string>{};
}

}  // namespace course::demo
