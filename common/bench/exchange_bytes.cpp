#include "bench/exchange_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace course::bench {

std::vector<HeadShare> head_shares(const ExchangeSize& size) {
  std::vector<HeadShare> shares;
  for (int rank = 0; rank < size.ranks; ++rank)
    shares.push_back(head_share(size.heads, size.kv_heads, size.ranks, rank));
  return shares;
}

std::int64_t ring_bytes(const ExchangeSize& size) {
  constexpr Index keys_and_values = 2;
  return keys_and_values * size.kv_heads * size.tokens * size.head_dim * (size.ranks - 1) *
         static_cast<Index>(sizeof(float));
}

std::int64_t ulysses_bytes(const ExchangeSize& size) {
  const std::vector<HeadShare> shares = head_shares(size);
  const auto there = [&](const HeadShare& to) {
    return size.head_dim * (to.last - to.first + 2 * (to.kv_last - to.kv_first));
  };
  Index all = 0, most = 0;
  for (const HeadShare& to : shares) all += there(to);
  for (const HeadShare& own : shares) {
    const Index back = (own.last - own.first) * (size.head_dim + 1) * (size.ranks - 1);
    most = std::max(most, all - there(own) + back);
  }
  return size.tokens * most * static_cast<Index>(sizeof(float));
}

std::int64_t grid_bytes(const ExchangeSize& size, int ulysses) {
  ExchangeSize group = size, between = size;
  group.ranks = ulysses;
  between.ranks = size.ranks / ulysses;  // a hop has more tokens and fewer heads
  return ulysses_bytes(group) + ring_bytes(between);
}

std::string preferred_by_bytes(const ExchangeSize& size) {
  const Index heads = size.heads, kv_heads = size.kv_heads;
  const bool copies = size.ranks > kv_heads;
  const Index ring = copies ? size.ranks * (kv_heads - 1) : (size.ranks - 1) * kv_heads;
  const std::string threshold =
      copies ? fmt::format("{}/({} - 1)", heads, kv_heads) : fmt::format("1 + {}/{}", heads, kv_heads);
  if (ring > heads) return fmt::format("{} > {}: Ulysses", size.ranks, threshold);
  if (ring < heads) return fmt::format("{} < {}: a ring, a gather or a double ring", size.ranks, threshold);
  return fmt::format("{} = {}: all send as much", size.ranks, threshold);
}

}  // namespace course::bench
