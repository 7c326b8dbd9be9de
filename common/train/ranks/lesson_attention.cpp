#include "train/ranks/lesson_attention.hpp"

#include <stdexcept>

#include "player/adapter.hpp"
#include "player/masked_blocks.hpp"
#include "player/played_case.hpp"

namespace course::train {

namespace {

Tensor copy_of(HeadsView<const float> x) {
  return Tensor({x.heads(), x.seq(), x.head_dim()}, {x.data(), x.data() + x.size()});
}

Tensor copy_of(MatrixView<const float> x) {
  return Tensor({x.rows(), x.cols()}, {x.data(), x.data() + x.size()});
}

/// Who owns what, as a ring's adapter is told it.
Arguments told(std::span<const Positions> positions) {
  Arguments arguments{{"shard_tokens", {}}, {"positions", {}}};
  for (const Positions& own : positions) {
    arguments["shard_tokens"].push_back(static_cast<double>(own.size()));
    arguments["positions"].insert(arguments["positions"].end(), own.begin(), own.end());
  }
  return arguments;
}

/// One pass of the ring. Throws std::runtime_error with what its function threw.
void go_round(const RingCode& ring, const std::string& function, Call& call) {
  const RankReport report = call_function(Library::at(ring.library), function, call);
  if (report.ending != "finished") throw std::runtime_error(function + ": " + report.what);
}

void take(const Call& call, const char* output, float* to) {
  const Tensor& made = call.outputs().at(output);
  std::copy_n(made.data(), made.size(), to);
}

}  // namespace

LessonAttention::LessonAttention(RingCode ring, LessonBlocks blocks)
    : ring_(std::move(ring)), blocks_(std::move(blocks)) {}

BlockForward LessonAttention::Given::make_forward(Taker) {
  return {[this](const BlockRequest& request, AttentionState& state) {
            masked::accumulate(blocks_, request, state);
          },
          blocks_.forward.finish};
}

BlockBackward LessonAttention::Given::make_backward(Taker) {
  return {[this](const BlockRequest& request, HeadsView<const float> d_o, MatrixView<const float> lse,
                 MatrixView<const float> delta, HeadsView<float> dq, HeadsView<float> dk,
                 HeadsView<float> dv) {
    masked::accumulate_backward(blocks_, request, d_o, lse, delta, dq, dk, dv);
  }};
}

ShardAttention LessonAttention::over(std::span<const Positions> positions, MPI_Comm comm) {
  const Arguments arguments = told(positions);
  ShardAttention bound;
  bound.forward = [this, arguments, comm](HeadsView<const float> q, HeadsView<const float> k,
                                          HeadsView<const float> v, HeadsView<float> o,
                                          MatrixView<float> lse) {
    Call call({{"q", copy_of(q)}, {"k", copy_of(k)}, {"v", copy_of(v)}}, arguments, &comm, blocks_);
    go_round(ring_, ring_.forward, call);
    take(call, "o", o.data());
    take(call, "lse", lse.data());
  };
  bound.backward = [this, arguments, comm](HeadsView<const float> q, HeadsView<const float> k,
                                           HeadsView<const float> v, HeadsView<const float> o,
                                           MatrixView<const float> lse, HeadsView<const float> d_o,
                                           HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv) {
    Call call({{"q", copy_of(q)},
               {"k", copy_of(k)},
               {"v", copy_of(v)},
               {"o", copy_of(o)},
               {"lse", copy_of(lse)},
               {"d_o", copy_of(d_o)}},
              arguments, &comm, blocks_);
    go_round(ring_, ring_.backward, call);
    take(call, "dq", dq.data());
    take(call, "dk", dk.data());
    take(call, "dv", dv.data());
  };
  return bound;
}

}  // namespace course::train
