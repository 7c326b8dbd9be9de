#include "packed_and_windowed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "lesson/not_implemented.hpp"

namespace lesson16 {

using course::KeyRange;

Positions document_positions(Index tokens, std::span<const Index> starts, int world_size, int rank) {
  // Lesson 14's zigzag, document by document. What comes behind the last document?
  throw course::NotImplemented("task 1, document_positions");
}

Batch packed_batch(std::span<const int> sequence, std::span<const Index> starts,
                   std::span<const Index> positions) {
  // Whose token is the next one? Where does a document's count begin?
  throw course::NotImplemented("task 2, packed_batch");
}

std::vector<KeyRange> key_ranges(std::span<const Index> query_positions, std::span<const Index> key_positions,
                                 const RowMask& mask) {
  // From which position on does a query see keys, and up to which? Where are these among the block's?
  throw course::NotImplemented("task 3, key_ranges");
}

std::vector<int> hops_needed(std::span<const Positions> positions, const RowMask& mask) {
  // Who is the farthest rank ahead that sees a key of the block?
  throw course::NotImplemented("task 4, hops_needed");
}

std::vector<float> alibi_slopes(Index heads) {
  // How many of them does the power of two below give? Where do the others come from?
  throw course::NotImplemented("task 5, alibi_slopes");
}

void join_sinks(std::span<const float> sinks, course::AttentionState& state) {
  // A merge with a state of one key. What is its m, its l, its O?
  throw course::NotImplemented("task 6, join_sinks");
}

void sink_gradients(std::span<const float> sinks, MatrixView<const float> lse, MatrixView<const float> delta,
                    std::span<float> d_sinks) {
  // The sink's weight in a row, and the gradient of its score there. Its value is 0.
  throw course::NotImplemented("task 7, sink_gradients");
}

void packed_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                           const RowMask& mask, std::span<const float> slopes, std::span<const float> sinks,
                           const course::BlockForward& block, MPI_Comm comm) {
  // Who decides that a block makes a hop: the one who sends it, or the one who receives it?
  // Where do the sinks join, and how often?
  throw course::NotImplemented("task 8, packed_ring_attention");
}

void packed_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<float> d_sinks, std::span<const Positions> positions, const RowMask& mask,
                          std::span<const float> slopes, std::span<const float> sinks,
                          const course::BlockBackward& block, MPI_Comm comm) {
  // Where is a block when it stops, and how do its gradients get home from there?
  // Whose queries have a part in a sink's gradient?
  throw course::NotImplemented("task 9, packed_ring_backward");
}

}  // namespace lesson16
