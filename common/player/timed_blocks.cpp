#include "player/timed_blocks.hpp"

#include <stdexcept>

#include "protocol/timing.hpp"
#include "trace/trace.hpp"

namespace course {

namespace {

/// They compute nothing: a ring that is given them only sends.
const LessonBlocks idle_blocks{{[](auto&&...) {}, [](auto&&...) {}}, {[](auto&&...) {}}};

std::string block_of(int owner) {
  return "block of rank " + std::to_string(owner);
}

void require(bool given, const std::string& option) {
  if (!given) throw std::runtime_error(option + " has no such block computation");
}

}  // namespace

TimedBlocks::TimedBlocks(LessonBlocks blocks, const std::string& variant, bool records,
                         std::function<void()> after_block)
    : blocks_(variant == "idle" ? idle_blocks : std::move(blocks)),
      tells_(variant != "without_progress"),
      records_(records),
      after_block_(std::move(after_block)) {
  if (!variant.empty() && variant != "idle" && variant != "without_progress")
    throw std::invalid_argument("block " + variant + ": expected idle or without_progress");
}

void TimedBlocks::compute(const std::string& label, double begin_s) {
  if (records_) spans_.push_back({Span::Kind::Compute, begin_s, now_s(), label});
}

void TimedBlocks::compute_block(const std::string& label, const BetweenTiles& between_tiles,
                                const Work& work) {
  double begin_s = now_s();
  const auto pause = [&] {
    compute(label, begin_s);
    const double paused_s = now_s();
    between_tiles();
    begin_s = now_s();
    spans_.push_back({Span::Kind::Transfer, paused_s, begin_s, progress_label});
  };
  const BetweenTiles told = tells_ ? between_tiles : BetweenTiles();
  work(told && records_ ? BetweenTiles(pause) : told);
  compute(label, begin_s);
  after_block_();
}

TiledBlockAttention TimedBlocks::make_forward(bool) {
  require(static_cast<bool>(blocks_.forward.accumulate), "--block");
  return {[this](HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v, int owner,
                 AttentionState& state, const BetweenTiles& between_tiles) {
            compute_block(block_of(owner), between_tiles, [&](const BetweenTiles& pause) {
              blocks_.forward.accumulate(q, k, v, owner, state, pause);
            });
          },
          [this](AttentionState& state, HeadsView<float> o, MatrixView<float> lse) {
            const double begin_s = now_s();
            blocks_.forward.finish(state, o, lse);
            compute("divide by l", begin_s);
          }};
}

TiledBlockAttentionBackward TimedBlocks::make_backward(bool) {
  require(static_cast<bool>(blocks_.backward.accumulate), "--block-backward");
  return {[this](HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 HeadsView<const float> d_o, MatrixView<const float> lse, MatrixView<const float> delta,
                 int owner, HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                 const BetweenTiles& between_tiles) {
    compute_block("backward, " + block_of(owner), between_tiles, [&](const BetweenTiles& pause) {
      blocks_.backward.accumulate(q, k, v, d_o, lse, delta, owner, dq, dk, dv, pause);
    });
  }};
}

}  // namespace course
