#include "striped_and_zigzag.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "lesson/not_implemented.hpp"

namespace lesson14 {

using course::HeadsView;
using course::Index;
using course::KeyRange;
using course::MatrixView;

Positions striped_positions(Index tokens, int world_size, int rank) {
  // Which position does the rank own first, and how far is it to the next?
  throw course::NotImplemented("task 1, striped_positions");
}

Positions zigzag_positions(Index tokens, int world_size, int rank) {
  // Where does chunk c begin, when the first few chunks hold one token more? Which two are the rank's?
  throw course::NotImplemented("task 1, zigzag_positions");
}

void shard_rows(HeadsView<const float> whole, std::span<const Index> positions, HeadsView<float> shard) {
  // Row i of the shard is which row of the whole?
  throw course::NotImplemented("task 2, shard_rows");
}

void unshard_rows(HeadsView<const float> gathered, std::span<const Positions> positions,
                  HeadsView<float> whole) {
  // Go through what was gathered, row by row. Where does each row belong?
  throw course::NotImplemented("task 2, unshard_rows");
}

Batch shard_batch(std::span<const int> sequence, std::span<const Index> positions) {
  // Which token follows the one at a position, and is it in this shard?
  throw course::NotImplemented("task 3, shard_batch");
}

std::vector<KeyRange> key_ranges(std::span<const Index> query_positions,
                                 std::span<const Index> key_positions) {
  // Both lists ascend. How many of the keys stand at the query's position or before it?
  throw course::NotImplemented("task 4, key_ranges");
}

Index causal_work(std::span<const Positions> positions, int rank, int step) {
  // Whose block is with the rank at this step? How many of its keys does each query see?
  throw course::NotImplemented("task 4, causal_work");
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                           const course::MaskedBlockAttention& block, MPI_Comm comm) {
  // Take your ring of lesson 13. What does it know of a block but its length, and who tells it now?
  throw course::NotImplemented("task 5, causal_ring_attention");
}

void causal_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<const Positions> positions,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm) {
  // Take your ring of lesson 13. Which blocks may be left out of the work, and which of the travels?
  throw course::NotImplemented("task 6, causal_ring_backward");
}

}  // namespace lesson14
