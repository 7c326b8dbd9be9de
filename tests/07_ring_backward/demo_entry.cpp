#include "demo/ring_entry.hpp"
#include "ring_backward.hpp"

void course_demo_ring_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                               course::HeadsView<const float> v, course::HeadsView<const float> o,
                               course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
                               course::HeadsView<float> dq, course::HeadsView<float> dk,
                               course::HeadsView<float> dv, std::span<const int> shard_tokens,
                               const course::BlockAttentionBackward& block, MPI_Comm comm) {
  lesson07::ring_attention_backward(q, k, v, o, lse, d_o, dq, dk, dv, shard_tokens, block, comm);
}
