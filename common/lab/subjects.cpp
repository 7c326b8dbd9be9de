#include "lab/subjects.hpp"

namespace course::lab {

BlockAttention whole(const TiledBlockAttention& block) {
  const auto accumulate = [block](HeadsView<const float> q, HeadsView<const float> k,
                                  HeadsView<const float> v, int owner,
                                  AttentionState& state) { block.accumulate(q, k, v, owner, state, {}); };
  return {accumulate, block.finish};
}

TiledBlockAttention no_work() {
  return {[](auto&&...) {}, [](auto&&...) {}};
}

}  // namespace course::lab
