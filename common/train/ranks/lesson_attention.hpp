#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "player/blocks.hpp"
#include "training/layer_functions.hpp"

namespace course::train {

/// A lesson's causal ring on any layout: its shared object, and what its adapter calls the two passes.
struct RingCode {
  std::filesystem::path library = {};
  std::string forward = {}, backward = {};
};

/// Attention by that ring and by lessons' blocks, for any model. It lives as long as what it has handed out.
class LessonAttention {
 public:
  LessonAttention(RingCode ring, LessonBlocks blocks);

  ShardAttention over(std::span<const Positions> positions, MPI_Comm comm);

 private:
  /// Hands the lessons' blocks to the ring.
  class Given : public Blocks {
   public:
    explicit Given(LessonBlocks blocks) : blocks_(std::move(blocks)) {}

   private:
    BlockForward make_forward(Taker) override;
    BlockBackward make_backward(Taker) override;

    LessonBlocks blocks_;
  };

  RingCode ring_;
  Given blocks_;
};

}  // namespace course::train
