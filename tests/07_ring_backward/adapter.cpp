#include "player/adapter.hpp"

#include "ring_backward.hpp"

namespace {

using course::Tensor;

void backward_traffic(course::Call& call) {
  const std::vector<int> shard_tokens = call.integers("shards");
  const int ranks = static_cast<int>(shard_tokens.size());
  Tensor& keys_values = call.output("keys_values", {ranks, 1});
  Tensor& gradients = call.output("gradients", {ranks, 1});
  for (int rank = 0; rank < ranks; ++rank) {
    const lesson07::Traffic traffic =
        lesson07::backward_traffic(shard_tokens, call.integer("heads"), call.integer("head_dim"), rank);
    keys_values[rank] = static_cast<float>(traffic.keys_values);
    gradients[rank] = static_cast<float>(traffic.gradients);
  }
}

void ring_attention_backward(course::Call& call) {
  const Tensor& q = call.input("q");
  lesson07::ring_attention_backward(
      q.heads(), call.input("k").heads(), call.input("v").heads(), call.input("o").heads(),
      call.input("lse").matrix(), call.input("d_o").heads(), call.output("dq", q.shape()).heads(),
      call.output("dk", q.shape()).heads(), call.output("dv", q.shape()).heads(),
      call.integers("shard_tokens"), call.blocks().backward(), call.communicator<MPI_Comm>());
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"backward_traffic", backward_traffic},
                                       {"ring_attention_backward", ring_attention_backward}};
  return adapter;
}
