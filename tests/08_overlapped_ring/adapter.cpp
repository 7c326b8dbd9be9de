#include "player/adapter.hpp"

#include <vector>

#include "overlapped_ring.hpp"
#include "player/plain_attention.hpp"

namespace {

using course::AttentionState;
using course::BetweenTiles;
using course::ComputeBuffer;
using course::HeadsView;
using course::Index;
using course::MatrixView;

template <class T>
ComputeBuffer buffer(HeadsView<T> x) {
  return {x.data(), x.size() * static_cast<std::int64_t>(sizeof(float)), !std::is_const_v<T>};
}

/// While it lives the instruments know that a block is being computed.
class Computing {
 public:
  Computing(course::ComputeObserver& watch, const std::vector<ComputeBuffer>& buffers) : watch_(watch) {
    watch_.begin(buffers);
  }
  ~Computing() { watch_.end(); }

  /// What the computation is to call after each tile.
  BetweenTiles after_a_tile(const BetweenTiles& between_tiles) {
    return [this, &between_tiles] {
      watch_.pause();
      if (between_tiles) between_tiles();
    };
  }

  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

 private:
  course::ComputeObserver& watch_;
};

/// Rows of `setups` are the members of Setup in their order.
void tokens_to_hide(course::Call& call) {
  const MatrixView<const float> setups = call.input("setups").matrix();
  const MatrixView<float> forward = call.output("forward", {setups.rows(), 1}).matrix();
  const MatrixView<float> backward = call.output("backward", {setups.rows(), 1}).matrix();
  for (Index i = 0; i < setups.rows(); ++i) {
    const auto row = setups.row(i);
    const lesson08::TokensToHide tokens =
        lesson08::tokens_to_hide({row[0], row[1], row[2], row[3], row[4], row[5], row[6] != 0});
    forward(i, 0) = static_cast<float>(tokens.forward);
    backward(i, 0) = static_cast<float>(tokens.backward);
  }
}

void overlapped_ring_attention(course::Call& call) {
  course::plain::BlockLog log;
  const auto accumulate = [&](HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                              int owner, AttentionState& state, const BetweenTiles& between_tiles) {
    Computing computing(call.compute_observer(), {buffer(q), buffer(k), buffer(v)});
    log.add(owner, k, v);
    course::plain::accumulate(q, k, v, state, computing.after_a_tile(between_tiles));
  };
  const course::Tensor& q = call.input("q");
  lesson08::overlapped_ring_attention(
      q.heads(), call.input("k").heads(), call.input("v").heads(), call.output("o", q.shape()).heads(),
      call.output("lse", {q.extent(0), q.extent(1)}).matrix(), call.integers("shard_tokens"),
      {accumulate, course::plain::finish}, call.communicator<MPI_Comm>());
  call.output(block_log::output, {0, block_log::columns}) = log.tensor();
}

void overlapped_ring_backward(course::Call& call) {
  course::plain::BlockLog log;
  const auto accumulate = [&](HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                              HeadsView<const float> d_o, MatrixView<const float> lse,
                              MatrixView<const float> delta, int owner, HeadsView<float> dq,
                              HeadsView<float> dk, HeadsView<float> dv, const BetweenTiles& between_tiles) {
    Computing computing(call.compute_observer(),
                        {buffer(q), buffer(k), buffer(v), buffer(d_o), buffer(dq), buffer(dk), buffer(dv)});
    log.add(owner, k, v);
    course::plain::accumulate_backward(q, k, v, d_o, lse, delta, dq, dk, dv,
                                       computing.after_a_tile(between_tiles));
  };
  const course::Tensor& q = call.input("q");
  const course::Tensor& k = call.input("k");
  lesson08::overlapped_ring_backward(
      q.heads(), k.heads(), call.input("v").heads(), call.input("o").heads(), call.input("lse").matrix(),
      call.input("d_o").heads(), call.output("dq", q.shape()).heads(), call.output("dk", k.shape()).heads(),
      call.output("dv", k.shape()).heads(), call.integers("shard_tokens"), {accumulate},
      call.communicator<MPI_Comm>());
  call.output(block_log::output, {0, block_log::columns}) = log.tensor();
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"tokens_to_hide", tokens_to_hide},
                                       {"overlapped_ring_attention", overlapped_ring_attention},
                                       {"overlapped_ring_backward", overlapped_ring_backward}};
  return adapter;
}
