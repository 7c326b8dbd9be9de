#pragma once

#include <optional>
#include <vector>

#include "player/blocks.hpp"
#include "protocol/block_log.hpp"
#include "protocol/compute_observer.hpp"
#include "tensor/tensor.hpp"

namespace course {

/// The plain computation, the same for everybody's ring. What each block was is logged for the judge; a
/// computation in tiles is told to the observer, too.
class GradedBlocks : public Blocks {
 public:
  explicit GradedBlocks(ComputeObserver& observer) : observer_(observer) {}

  /// The output `log` [calls, block_log::columns] of a function that was handed one of them.
  std::optional<Tensor> log() const;

 private:
  TiledBlockAttention make_forward(bool in_tiles) override;
  TiledBlockAttentionBackward make_backward(bool in_tiles) override;
  void enter(int owner, HeadsView<const float> k, HeadsView<const float> v);

  ComputeObserver& observer_;
  ComputeObserver nobody_;
  bool handed_out_ = false;
  std::vector<block_log::Entry> entries_;
};

}  // namespace course
