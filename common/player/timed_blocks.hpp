#pragma once

#include <functional>
#include <string>
#include <vector>

#include "player/blocks.hpp"
#include "trace/trace.hpp"

namespace course {

/// Blocks of somebody's own, with every block and every tile in a span of compute, and what is done between
/// tiles in one called progress_label: MPI's tests are no spans of the layer's.
class TimedBlocks : public Blocks {
 public:
  /// @param variant CaseManifest::block. Throws std::invalid_argument for a word that is none.
  /// @param records whether there are spans
  TimedBlocks(LessonBlocks blocks, const std::string& variant, bool records,
              std::function<void()> after_block);

  /// The spans since the last look, on this host's monotonic clock.
  std::vector<Span> take_spans() { return std::exchange(spans_, {}); }

 private:
  /// Throws std::runtime_error where the lesson that was given has none.
  TiledBlockAttention make_forward(bool) override;
  TiledBlockAttentionBackward make_backward(bool) override;
  using Work = std::function<void(const BetweenTiles&)>;
  void compute_block(const std::string& label, const BetweenTiles& between_tiles, const Work& work);
  void compute(const std::string& label, double begin_s);

  LessonBlocks blocks_;
  bool tells_ = true;  ///< whether between_tiles is called
  bool records_;
  std::function<void()> after_block_;
  std::vector<Span> spans_;
};

}  // namespace course
