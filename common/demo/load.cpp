#include "demo/load.hpp"

#include <algorithm>
#include <numeric>

namespace course::demo {

WorkTable empty_table(std::size_t ranks) {
  return WorkTable(ranks, std::vector<double>(ranks));
}

OwnersByStep ring_owners(int ranks) {
  OwnersByStep owners(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    for (int step = 0; step < ranks; ++step) owners[rank].push_back((rank + ranks - step) % ranks);
  }
  return owners;
}

WorkTable scores_by_step(const Layout& layout, const reference::Mask& mask) {
  const OwnersByStep owners = ring_owners(layout.ranks());
  WorkTable scores = empty_table(owners.size());
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    for (int step = 0; step < layout.ranks(); ++step)
      scores[rank][step] =
          static_cast<double>(mask.work(layout.positions(rank), layout.positions(owners[rank][step])));
  }
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

WorkTable seconds_by_step(std::span<const RankRecord> ranks, const OwnersByStep& owners) {
  WorkTable seconds = empty_table(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const auto& [owner, cpu_s] : ranks[rank].call.blocks) {
      const auto step = std::ranges::find(owners[rank], owner) - owners[rank].begin();
      seconds[rank][step == std::ssize(owners[rank]) ? 0 : step] += cpu_s;
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
