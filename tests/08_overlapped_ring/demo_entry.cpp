#include "demo/ring_entry.hpp"
#include "overlapped_ring.hpp"

void course_demo_overlapped_ring(course::HeadsView<const float> q, course::HeadsView<const float> k,
                                 course::HeadsView<const float> v, course::HeadsView<float> o,
                                 course::MatrixView<float> lse, std::span<const int> shard_tokens,
                                 const course::TiledBlockAttention& block, MPI_Comm comm) {
  lesson08::overlapped_ring_attention(q, k, v, o, lse, shard_tokens, block, comm);
}

void course_demo_overlapped_ring_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                                          course::HeadsView<const float> v, course::HeadsView<const float> o,
                                          course::MatrixView<const float> lse,
                                          course::HeadsView<const float> d_o, course::HeadsView<float> dq,
                                          course::HeadsView<float> dk, course::HeadsView<float> dv,
                                          std::span<const int> shard_tokens,
                                          const course::TiledBlockAttentionBackward& block, MPI_Comm comm) {
  lesson08::overlapped_ring_backward(q, k, v, o, lse, d_o, dq, dk, dv, shard_tokens, block, comm);
}
