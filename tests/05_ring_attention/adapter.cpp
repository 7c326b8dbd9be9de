#include "player/adapter.hpp"

#include "ring_attention.hpp"

namespace {

using course::MatrixView;

void block_owner(course::Call& call) {
  const int world_size = static_cast<int>(call.integer("world_size"));
  const MatrixView<float> owner = call.output("owner", {world_size, world_size}).matrix();
  for (int rank = 0; rank < world_size; ++rank) {
    for (int hop = 0; hop < world_size; ++hop) {
      owner(rank, hop) = static_cast<float>(lesson05::block_owner(rank, hop, world_size));
    }
  }
}

void ring_attention(course::Call& call) {
  const course::Tensor& q = call.input("q");
  lesson05::ring_attention(
      q.heads(), call.input("k").heads(), call.input("v").heads(), call.output("o", q.shape()).heads(),
      call.output("lse", {q.extent(0), q.extent(1)}).matrix(), call.integers("shard_tokens"),
      call.blocks().forward(), call.communicator<MPI_Comm>());
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"block_owner", block_owner}, {"ring_attention", ring_attention}};
  return adapter;
}
