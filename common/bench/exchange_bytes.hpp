#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ring/head_share.hpp"

/// What ranks send in a forward pass, by lessons 15, 17 and 18.
namespace course::bench {

/// Shards of one length, in float32.
struct ExchangeSize {
  int ranks = 1;
  Index tokens = 0;  ///< of a rank
  Index heads = 1, kv_heads = 1, head_dim = 1;
};

/// The heads that Ulysses gives to every rank.
std::vector<HeadShare> head_shares(const ExchangeSize& size);

/// Bytes that a rank sends in a ring, and in a gather and a double ring, too.
std::int64_t ring_bytes(const ExchangeSize& size);
/// Bytes of the rank that sends most in both exchanges of Ulysses: q, k and v there, o and lse back.
std::int64_t ulysses_bytes(const ExchangeSize& size);
/// The same of a grid of `ulysses` ranks a group, which divides the ranks and both numbers of heads.
std::int64_t grid_bytes(const ExchangeSize& size, int ulysses);

/// "4 < 1 + 32/8: a ring, a gather or a double ring": what sends least but for lse, which is small. On more
/// ranks than key heads, which are copied then, "16 > 32/(8 - 1): Ulysses".
std::string preferred_by_bytes(const ExchangeSize& size);

}  // namespace course::bench
