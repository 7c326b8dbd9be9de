#pragma once

#include <vector>

#include "reference/mask.hpp"
#include "ring/layout.hpp"

namespace course::reference {

/// By block, how many hops to rank + 1 take it to the last rank whose queries see a key of it.
inline std::vector<int> hops_needed(const Layout& layout, const Mask& mask) {
  const int ranks = layout.ranks();
  std::vector<int> hops(ranks, 0);
  for (int owner = 0; owner < ranks; ++owner) {
    for (int hop = 1; hop < ranks; ++hop) {
      if (mask.work(layout.positions((owner + hop) % ranks), layout.positions(owner)) > 0) hops[owner] = hop;
    }
  }
  return hops;
}

}  // namespace course::reference
