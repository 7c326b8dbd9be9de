#include "player/adapter.hpp"

#include "player/plain_attention.hpp"
#include "ring_attention.hpp"

namespace {

using course::HeadsView;
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
  course::plain::BlockLog log;
  const course::BlockAttention block = course::plain::logged(log);
  const course::Tensor& q = call.input("q");
  const HeadsView<float> o = call.output("o", q.shape()).heads();
  const MatrixView<float> lse = call.output("lse", {q.extent(0), q.extent(1)}).matrix();
  lesson05::ring_attention(q.heads(), call.input("k").heads(), call.input("v").heads(), o, lse,
                           call.integers("shard_tokens"), block, call.communicator<MPI_Comm>());
  call.output(block_log::output, {0, block_log::columns}) = log.tensor();
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"block_owner", block_owner}, {"ring_attention", ring_attention}};
  return adapter;
}
