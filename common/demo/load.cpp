#include "demo/load.hpp"

#include <algorithm>
#include <numeric>

namespace course::demo {

namespace {

WorkTable empty_table(std::size_t ranks) {
  return WorkTable(ranks, std::vector<double>(ranks));
}

std::size_t holder(std::size_t rank, std::size_t step, std::size_t ranks) {
  return (rank + ranks - step) % ranks;
}

}  // namespace

WorkTable scores_by_step(const Layout& layout, const reference::Mask& mask) {
  const auto ranks = static_cast<std::size_t>(layout.ranks());
  WorkTable scores = empty_table(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t step = 0; step < ranks; ++step) {
      const auto owner = static_cast<int>(holder(rank, step, ranks));
      scores[rank][step] =
          static_cast<double>(mask.work(layout.positions(static_cast<int>(rank)), layout.positions(owner)));
    }
  }
  return scores;
}

WorkTable scores_of_heads(const std::vector<Index>& heads, const Layout& layout,
                          const reference::Mask& mask) {
  std::vector<Index> all(static_cast<std::size_t>(layout.tokens()));
  std::iota(all.begin(), all.end(), Index{0});
  const auto of_one_head = static_cast<double>(mask.work(all, all));
  WorkTable scores = empty_table(heads.size());
  for (std::size_t rank = 0; rank < heads.size(); ++rank)
    scores[rank][0] = static_cast<double>(heads[rank]) * of_one_head;
  return scores;
}

std::vector<BlocksToSend> blocks_to_send(const std::vector<int>& hops) {
  const int ranks = static_cast<int>(hops.size());
  std::vector<BlocksToSend> all(hops.size());
  for (int owner = 0; owner < ranks; ++owner) {
    for (int hop = 0; hop < hops[owner]; ++hop) {
      ++all[(owner + hop) % ranks].keys;
      ++all[(owner + hop) % ranks].gradients;
    }
    if (hops[owner] > 0) ++all[(owner + hops[owner]) % ranks].gradients;
  }
  return all;
}

WorkTable seconds_by_step(std::span<const RankRecord> ranks) {
  WorkTable seconds = empty_table(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const auto& [owner, cpu_s] : ranks[rank].call.blocks) {
      // Which step holds whose block is as which block is held at which step.
      seconds[rank][holder(rank, static_cast<std::size_t>(owner), ranks.size())] += cpu_s;
    }
  }
  return seconds;
}

double total(const std::vector<double>& steps) {
  return std::accumulate(steps.begin(), steps.end(), 0.0);
}

double slowest_steps(const WorkTable& work) {
  double slowest = 0, all = 0;
  for (std::size_t step = 0; step < work.size(); ++step) {
    double most = 0;
    for (const std::vector<double>& steps : work) most = std::max(most, steps[step]);
    slowest += most;
  }
  for (const std::vector<double>& steps : work) all += total(steps);
  return all > 0 ? slowest * static_cast<double>(work.size()) / all : 0;
}

}  // namespace course::demo
