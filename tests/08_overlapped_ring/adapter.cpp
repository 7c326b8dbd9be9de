#include "player/adapter.hpp"

#include "overlapped_ring.hpp"

namespace {

using course::Index;
using course::MatrixView;

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
  const course::Tensor& q = call.input("q");
  lesson08::overlapped_ring_attention(
      q.heads(), call.input("k").heads(), call.input("v").heads(), call.output("o", q.shape()).heads(),
      call.output("lse", {q.extent(0), q.extent(1)}).matrix(), call.integers("shard_tokens"),
      call.blocks().tiled_forward(), call.communicator<MPI_Comm>());
}

void overlapped_ring_backward(course::Call& call) {
  const course::Tensor& q = call.input("q");
  const course::Tensor& k = call.input("k");
  lesson08::overlapped_ring_backward(
      q.heads(), k.heads(), call.input("v").heads(), call.input("o").heads(), call.input("lse").matrix(),
      call.input("d_o").heads(), call.output("dq", q.shape()).heads(), call.output("dk", k.shape()).heads(),
      call.output("dv", k.shape()).heads(), call.integers("shard_tokens"), call.blocks().tiled_backward(),
      call.communicator<MPI_Comm>());
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"tokens_to_hide", tokens_to_hide},
                                       {"overlapped_ring_attention", overlapped_ring_attention},
                                       {"overlapped_ring_backward", overlapped_ring_backward}};
  return adapter;
}
