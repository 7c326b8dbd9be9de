#include "demo/ring_entry.hpp"

/// Attends to the rank's own block alone, which is right on one rank, and moves o by less than anybody would
/// call wrong, so that it can be told from another ring's.
void course_demo_overlapped_ring(course::HeadsView<const float> q, course::HeadsView<const float> k,
                                 course::HeadsView<const float> v, course::HeadsView<float> o,
                                 course::MatrixView<float> lse, std::span<const int>,
                                 const course::TiledBlockAttention& block, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  block.accumulate(q, k, v, rank, state, {});
  block.finish(state, o, lse);
  for (course::Index i = 0; i < o.size(); ++i) o.data()[i] *= 1 + 1e-6f;
}
